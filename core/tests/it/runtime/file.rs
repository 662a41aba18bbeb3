//! Builds GGUF files, right and wrong.

use superfluid_core::runtime::gguf::{GgufError, Header, Parsed};

pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

pub(crate) fn text(key: &str, value: &str) -> Vec<u8> {
    [string(key), 8_u32.to_le_bytes().to_vec(), string(value)].concat()
}

pub(crate) fn u32_value(key: &str, value: u32) -> Vec<u8> {
    [string(key), 4_u32.to_le_bytes().to_vec(), value.to_le_bytes().to_vec()].concat()
}

/// An array's key, item type and claimed length, without its items.
pub(crate) fn array(key: &str, kind: u32, len: u64) -> Vec<u8> {
    let head = [9_u32, kind].map(u32::to_le_bytes).concat();
    [string(key), head, len.to_le_bytes().to_vec()].concat()
}

pub(crate) fn tensor(name: &str, shape: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let dimensions = u32::try_from(shape.len()).unwrap().to_le_bytes().to_vec();
    let shape: Vec<u8> = shape.iter().flat_map(|size| size.to_le_bytes()).collect();
    [string(name), dimensions, shape, kind.to_le_bytes().to_vec(), offset.to_le_bytes().to_vec()].concat()
}

#[derive(Clone)]
pub(crate) struct File {
    pub(crate) version: u32,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) key_count: Option<u64>,
    pub(crate) tensors: Vec<Vec<u8>>,
    pub(crate) tensor_count: Option<u64>,
    pub(crate) data: usize,
}

impl File {
    pub(crate) fn new(keys: Vec<Vec<u8>>, tensors: Vec<Vec<u8>>, data: usize) -> Self {
        Self { version: 3, keys, key_count: None, tensors, tensor_count: None, data }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        bytes.extend(self.key_count.unwrap_or(self.keys.len() as u64).to_le_bytes());
        bytes.extend(self.keys.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.resize(bytes.len() + self.data, 1);
        bytes
    }
}

pub(crate) fn keys(architecture: &str) -> Vec<Vec<u8>> {
    vec![
        text("general.architecture", architecture),
        text("general.name", "tiny"),
        u32_value(&format!("{architecture}.context_length"), 2048),
    ]
}

/// A small whole model: two tensors, 128 bytes of F32 and 36 of Q4_0.
pub(crate) fn good() -> File {
    let mut keys = keys("llama");
    keys.push(text("tokenizer.chat_template", "{{ messages }}"));
    keys.push([array("tokenizer.ggml.tokens", 8, 3), string("a"), string(""), string("c")].concat());
    keys.push([array("scores", 6, 2), vec![0; 8]].concat());
    let tensors = vec![tensor("token_embd.weight", &[8, 4], 0, 0), tensor("output.weight", &[32, 2], 2, 128)];
    File::new(keys, tensors, 128 + 36)
}

/// Reads as a driver does: from a first prefix, longer as asked for, and checks the asking.
pub(crate) fn read(bytes: &[u8], first: usize) -> Result<Header, GgufError> {
    let mut have = first.min(bytes.len());
    loop {
        match Header::parse(&bytes[..have], bytes.len() as u64)? {
            Parsed::Header(header) => return Ok(header),
            Parsed::NeedMore { bytes: more } => {
                let more = usize::try_from(more).unwrap();
                assert!(more > have && more <= bytes.len(), "{have} -> {more} of {}", bytes.len());
                have = more;
            }
        }
    }
}
