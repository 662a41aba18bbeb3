//! JSON from strangers: bounded before it is parsed, no key twice.

use super::codes;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Bytes of a request's head, its first line and headers together, that are read.
pub const HEAD_BYTES: usize = 64 << 10;
/// Headers that a request may have.
pub const HEAD_FIELDS: usize = 100;

/// What a request may hold at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the body.
    pub bytes: usize,
    /// Objects and arrays in one another.
    pub depth: usize,
    /// JSON values in all: a value takes many times the memory of the two bytes it is written with.
    pub values: usize,
    /// Messages of a conversation.
    pub messages: usize,
    /// Prompts of a completion: each is a job of its own.
    pub prompts: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 64, values: 1 << 19, messages: 16_384, prompts: 128 }
    }
}

impl Bounds {
    /// The refusal for a body of more than `bytes`, announced or read.
    pub fn too_large(&self) -> Refusal {
        let message = format!("the body is larger than {} bytes, the most this server takes", self.bytes);
        Refusal::new(codes::BODY_TOO_LARGE, message)
    }
}

/// Parses a body that must be one JSON object. Size, depth and number of values are checked before
/// anything recurses or allocates.
///
/// # Errors
/// `body_too_large` and `invalid_json`.
pub fn parse_object(body: &[u8], bounds: &Bounds) -> Result<Map<String, Value>, Refusal> {
    if body.len() > bounds.bytes {
        return Err(bounds.too_large());
    }
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(invalid("the body starts with a byte order mark: send UTF-8 without one"));
    }
    let text = core::str::from_utf8(body)
        .map_err(|error| invalid(format!("the body is not UTF-8 from byte {} on", error.valid_up_to())))?;
    if text.trim_ascii().is_empty() {
        return Err(invalid("the body is empty: send a JSON object"));
    }
    check_shape(body, bounds)?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Strict
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| invalid(format!("the body is not valid JSON: {error}")))?;
    match value {
        Value::Object(map) => Ok(map),
        other => Err(invalid(format!("the body must be a JSON object, not {}", super::fields::kind(&other)))),
    }
}

/// JSON of a value that has no way to fail: no maps with odd keys, no failing `Serialize`.
pub(super) fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(codes::INVALID_JSON, message)
}

/// Depth and number of values, by brackets and commas outside strings; well-formed or not.
fn check_shape(body: &[u8], bounds: &Bounds) -> Result<(), Refusal> {
    let (mut depth, mut values) = (0_usize, 1_usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in body {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > bounds.depth {
            return Err(invalid(format!("the body is nested more than {} deep", bounds.depth)));
        }
        if values > bounds.values {
            return Err(invalid(format!("the body holds more than {} values", bounds.values)));
        }
    }
    Ok(())
}

/// Reads a [`Value`] and refuses an object that has a key twice, where `Value` would keep the last.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }
    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let key = super::fields::short(&key);
                return Err(A::Error::custom(format_args!("the key '{key}' appears twice")));
            }
            map.insert(key, entries.next_value_seed(Self)?);
        }
        Ok(Value::Object(map))
    }
}
