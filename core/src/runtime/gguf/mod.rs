//! The header of a GGUF file: read from a prefix of the file, every length checked against the
//! bytes that are left, and judged before anything loads.
//!
//! [`Header::parse`] is given as much of the start as has been read and the file's size. It either
//! reads the header whole or says how long a prefix to come back with. Memory is a small multiple
//! of the prefix, whatever the file claims.

mod judge;
mod reader;
mod tensor;
mod value;

pub use tensor::Tensor;
pub use value::Value;

use super::format::split_names;
use crate::refusal::Refusal;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use reader::{Reader, Stop};

/// How much of a file to read first; most headers without a large vocabulary fit.
pub const FIRST_PREFIX: u64 = 1 << 20;

/// No header is longer than this: a vocabulary of a million tokens takes a tenth.
pub const LONGEST_HEADER: u64 = 256 << 20;

/// A header, read whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// 2 or 3.
    pub version: u32,
    /// The keys; of arrays only type and length are kept.
    pub keys: BTreeMap<String, Value>,
    /// The tensors, in the file's order, every one inside the file.
    pub tensors: Vec<Tensor>,
    /// Where tensor data starts.
    pub data_start: u64,
}

/// A header, or the prefix that is needed for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// Read whole.
    Header(Header),
    /// Come back with a prefix of at least this many bytes, never more than the file has.
    NeedMore {
        /// Length of the prefix from the file's start.
        bytes: u64,
    },
}

/// What is wrong with a file that says it is GGUF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GgufError {
    /// Another magic.
    #[error("it does not start with GGUF")]
    Magic,
    /// A version nobody reads any more, or not yet.
    #[error("it is GGUF version {0}; versions 2 and 3 are read")]
    Version(u32),
    /// Written for a machine of the other byte order.
    #[error("it is a big-endian GGUF file, for machines of the other byte order")]
    BigEndian,
    /// The file ends within the header.
    #[error("the file ends in its header, at {what}: {needed} bytes needed, {present} present")]
    HeaderCut {
        /// What was being read.
        what: String,
        /// Bytes from the file's start.
        needed: u64,
        /// The file's size.
        present: u64,
    },
    /// The file ends before its tensors do.
    #[error("the file is cut short: tensor {tensor:?} needs {needed} bytes, {present} are present")]
    DataCut {
        /// The first tensor that is not whole.
        tensor: String,
        /// Bytes from the file's start to that tensor's end.
        needed: u64,
        /// The file's size.
        present: u64,
    },
    /// Something no writer writes.
    #[error("its header is broken: {0}")]
    Broken(String),
}

impl Header {
    /// Reads a header. `prefix` is the start of the file, as long as has been read so far.
    pub fn parse(prefix: &[u8], file_len: u64) -> Result<Parsed, GgufError> {
        let mut reader = Reader::new(prefix, file_len);
        match read(&mut reader) {
            Ok(header) => Ok(Parsed::Header(header)),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::NeedMore(needed)) => {
                if needed > LONGEST_HEADER {
                    return Err(GgufError::Broken(format!("it is longer than {LONGEST_HEADER} bytes")));
                }
                let double = (prefix.len() as u64).saturating_mul(2).min(LONGEST_HEADER);
                Ok(Parsed::NeedMore { bytes: needed.max(double).max(FIRST_PREFIX).min(file_len) })
            }
        }
    }

    /// `general.architecture`: `llama`, `qwen3`, …
    pub fn architecture(&self) -> Option<&str> {
        self.text("general.architecture")
    }

    /// `general.name`
    pub fn name(&self) -> Option<&str> {
        self.text("general.name")
    }

    /// The window the model was trained for, in tokens.
    pub fn context_length(&self) -> Option<u64> {
        self.keys.get(&format!("{}.context_length", self.architecture()?))?.as_u64()
    }

    /// Whether the file brings a chat template.
    pub fn has_chat_template(&self) -> bool {
        self.text("tokenizer.chat_template").is_some_and(|template| !template.is_empty())
    }

    /// How many tokens the vocabulary has.
    pub fn token_count(&self) -> Option<u64> {
        match self.keys.get("tokenizer.ggml.tokens")? {
            Value::Array { len, .. } => Some(*len),
            _ => None,
        }
    }

    /// Part (from 0) and number of parts, where the model is split into several GGUF files.
    pub fn split(&self) -> Option<(u64, u64)> {
        let count = self.keys.get("split.count")?.as_u64()?;
        let part = self.keys.get("split.no").and_then(Value::as_u64).unwrap_or(0);
        (count > 1).then_some((part, count))
    }

    /// The files a split model is made of, this one among them, beside the name given; none for a
    /// model in one file. [`complete`](super::format::complete) judges whether they are there.
    pub fn parts(&self, name: &str) -> Vec<String> {
        self.split().and_then(|(_, count)| split_names(name, count)).unwrap_or_default()
    }

    /// Bytes of tensor data in this file, as far as the tensors' types are known.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().filter_map(|tensor| tensor.bytes).fold(0, u64::saturating_add)
    }

    /// Refuses a header that holds no language model: a vision projector, an adapter, a vocabulary
    /// alone, a part of a split model that is not its first. `name` is the file's, as given.
    pub fn servable(&self, name: &str) -> Result<(), Refusal> {
        judge::servable(self, name)
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.keys.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl GgufError {
    /// The refusal to show for the file `name`.
    pub fn refusal(&self, name: &str) -> Refusal {
        judge::refusal(self, name)
    }
}

fn read(reader: &mut Reader<'_>) -> Result<Header, Stop> {
    if reader.bytes(4, "the magic")? != b"GGUF" {
        return Err(Stop::Error(GgufError::Magic));
    }
    let version = reader.u32("the version")?;
    match version {
        2 | 3 => {}
        // No version is this large; one of the other byte order is.
        _ if version.swap_bytes() <= 0xffff && version > 0xffff => {
            return Err(Stop::Error(GgufError::BigEndian));
        }
        _ => return Err(Stop::Error(GgufError::Version(version))),
    }
    let tensor_count = reader.u64("the tensor count")?;
    let key_count = reader.u64("the key count")?;
    // A key takes 13 bytes at least (length, one letter, type, one byte), a tensor 32.
    reader.room_for(key_count, 13, "the keys")?;
    reader.room_for(tensor_count, 32, "the tensors")?;
    let mut keys = BTreeMap::new();
    for _ in 0..key_count {
        let (key, value) = value::entry(reader)?;
        if keys.contains_key(&key) {
            return Err(reader.broken(format!("key {key:?} is there twice")));
        }
        keys.insert(key, value);
    }
    let alignment = match keys.get("general.alignment") {
        None => 32,
        Some(Value::U32(alignment)) if alignment.is_power_of_two() && *alignment <= 1 << 20 => {
            u64::from(*alignment)
        }
        Some(other) => return Err(reader.broken(format!("general.alignment is {other}"))),
    };
    let mut tensors = Vec::new();
    for _ in 0..tensor_count {
        tensors.push(tensor::info(reader, alignment)?);
    }
    let data_start = reader.position().next_multiple_of(alignment);
    tensor::inside(&tensors, data_start, reader.file_len())?;
    Ok(Header { version, keys, tensors, data_start })
}
