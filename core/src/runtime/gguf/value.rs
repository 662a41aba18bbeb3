//! Keys and values.

use super::reader::{Reader, Stop};
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A key's value. Arrays are walked and not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// 8-bit, unsigned.
    U8(u8),
    /// 8-bit, signed.
    I8(i8),
    /// 16-bit, unsigned.
    U16(u16),
    /// 16-bit, signed.
    I16(i16),
    /// 32-bit, unsigned.
    U32(u32),
    /// 32-bit, signed.
    I32(i32),
    /// 32-bit float.
    F32(f32),
    /// True or false.
    Bool(bool),
    /// UTF-8; what is not is replaced.
    Text(String),
    /// An array.
    Array {
        /// The items' type number.
        kind: u32,
        /// How many.
        len: u64,
    },
    /// 64-bit, unsigned.
    U64(u64),
    /// 64-bit, signed.
    I64(i64),
    /// 64-bit float.
    F64(f64),
}

impl Value {
    /// A whole number that is not negative, of any width.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(number) => Some(number.into()),
            Self::U16(number) => Some(number.into()),
            Self::U32(number) => Some(number.into()),
            Self::U64(number) => Some(number),
            Self::I8(number) => number.try_into().ok(),
            Self::I16(number) => number.try_into().ok(),
            Self::I32(number) => number.try_into().ok(),
            Self::I64(number) => number.try_into().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8(value) => write!(f, "{value}"),
            Self::I8(value) => write!(f, "{value}"),
            Self::U16(value) => write!(f, "{value}"),
            Self::I16(value) => write!(f, "{value}"),
            Self::U32(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::U64(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}"),
            Self::F32(value) => write!(f, "{value}"),
            Self::F64(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Text(text) => {
                let start: String = text.chars().take(80).collect();
                write!(f, "{start:?}")
            }
            Self::Array { len, .. } => write!(f, "an array of {len}"),
        }
    }
}

const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// How deep arrays may nest; writers nest none.
const DEEPEST: u32 = 4;

/// One key with its value.
pub(super) fn entry(reader: &mut Reader<'_>) -> Result<(String, Value), Stop> {
    let key = reader.string("a key")?;
    if key.is_empty() || key.len() > 65_535 {
        return Err(reader.broken(format!("a key of {} bytes", key.len())));
    }
    let Ok(key) = str::from_utf8(key) else { return Err(reader.broken("a key that is not UTF-8")) };
    let kind = reader.u32(key)?;
    let value = match kind {
        0 => Value::U8(u8::from_le_bytes(reader.array(key)?)),
        1 => Value::I8(i8::from_le_bytes(reader.array(key)?)),
        2 => Value::U16(u16::from_le_bytes(reader.array(key)?)),
        3 => Value::I16(i16::from_le_bytes(reader.array(key)?)),
        4 => Value::U32(reader.u32(key)?),
        5 => Value::I32(i32::from_le_bytes(reader.array(key)?)),
        6 => Value::F32(f32::from_le_bytes(reader.array(key)?)),
        7 => Value::Bool(reader.array::<1>(key)? != [0]),
        TEXT => Value::Text(String::from_utf8_lossy(reader.string(key)?).into_owned()),
        ARRAY => array(reader, key, 1)?,
        10 => Value::U64(reader.u64(key)?),
        11 => Value::I64(i64::from_le_bytes(reader.array(key)?)),
        12 => Value::F64(f64::from_le_bytes(reader.array(key)?)),
        _ => return Err(reader.broken(format!("key {key:?} has a value of unknown type {kind}"))),
    };
    Ok((key.into(), value))
}

fn array(reader: &mut Reader<'_>, key: &str, depth: u32) -> Result<Value, Stop> {
    let kind = reader.u32(key)?;
    let len = reader.u64(key)?;
    let width = match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        TEXT => {
            reader.room_for(len, 8, key)?;
            for _ in 0..len {
                reader.string(key)?;
            }
            return Ok(Value::Array { kind, len });
        }
        ARRAY if depth < DEEPEST => {
            reader.room_for(len, 12, key)?;
            for _ in 0..len {
                array(reader, key, depth + 1)?;
            }
            return Ok(Value::Array { kind, len });
        }
        ARRAY => return Err(reader.broken(format!("key {key:?} nests arrays more than {DEEPEST} deep"))),
        _ => return Err(reader.broken(format!("key {key:?} has items of unknown type {kind}"))),
    };
    reader.bytes(len.saturating_mul(width), key)?;
    Ok(Value::Array { kind, len })
}
