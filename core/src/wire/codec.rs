//! Frames out of bytes and back: a u32 little-endian length, then that many bytes of JSON.

use super::MAX_FRAME;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a frame before its JSON.
const HEADER: usize = 4;

/// Bytes of the other side's own data an error shows.
const SHOWN: usize = 48;

/// Why a link cannot go on. Each names what came, escaped, so that a library's stray line on the
/// wire is recognised at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The length is zero or above [`MAX_FRAME`]; mostly text written where frames belong.
    #[error("a frame of {length} bytes was announced, a frame has 1 to {MAX_FRAME}; the link began {came}")]
    Length {
        /// The length announced.
        length: u32,
        /// The header and what followed it.
        came: String,
    },
    /// The frame is not the JSON expected.
    #[error("a frame of {length} bytes is not understood ({cause}); it begins {came}")]
    Json {
        /// Bytes of JSON.
        length: u32,
        /// What the parser says.
        cause: String,
        /// How it begins.
        came: String,
    },
    /// The link ended inside a frame.
    #[error("the link ended inside a frame, after {had} of {wanted} bytes; it begins {came}")]
    Truncated {
        /// Bytes of the frame that came, header included.
        had: u64,
        /// Bytes the frame has, header included; the header alone where that is cut.
        wanted: u64,
        /// How it begins.
        came: String,
    },
    /// A frame to send is above [`MAX_FRAME`].
    #[error("a frame to send has {length} bytes, a frame has at most {MAX_FRAME}")]
    TooLong {
        /// Bytes of JSON.
        length: u64,
    },
    /// A frame to send cannot be written as JSON.
    #[error("a frame to send is not JSON: {cause}")]
    Unwritable {
        /// What the writer says.
        cause: String,
    },
}

/// Puts frames together from bytes cut anywhere. It holds at most what it was given: a length that
/// is only announced reserves nothing.
///
/// Give it bytes ([`handle_bytes`](Self::handle_bytes)), then drain
/// [`poll_frame`](Self::poll_frame) until `None`. The first error ends the link: later bytes are
/// dropped and no frame follows.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that were taken out as frames.
    taken: usize,
    broken: bool,
}

impl Decoder {
    /// A decoder at the start of a link.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held that are not yet a frame.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.taken
    }

    /// Whether an error ended the link.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Bytes came. Drain [`poll_frame`](Self::poll_frame) before giving more.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        if self.broken {
            return;
        }
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The link ended. An error where it ended inside a frame.
    pub fn handle_end(&mut self) -> Result<(), CodecError> {
        let left = &self.buffer[self.taken..];
        if self.broken || left.is_empty() {
            return Ok(());
        }
        let wanted = announced(left).map_or(HEADER as u64, |n| u64::from(n) + HEADER as u64);
        let error = CodecError::Truncated { had: left.len() as u64, wanted, came: shown(left) };
        self.fail();
        Err(error)
    }

    /// The next whole frame, or the error that ends the link, or `None` for "more bytes".
    pub fn poll_frame<T: DeserializeOwned>(&mut self) -> Option<Result<T, CodecError>> {
        let left = &self.buffer[self.taken..];
        let length = announced(left)?;
        if length == 0 || length > MAX_FRAME {
            let error = CodecError::Length { length, came: shown(left) };
            self.fail();
            return Some(Err(error));
        }
        let end = HEADER + length as usize;
        let json = left.get(HEADER..end)?;
        match serde_json::from_slice(json) {
            Ok(frame) => {
                self.taken += end;
                Some(Ok(frame))
            }
            Err(cause) => {
                let error =
                    CodecError::Json { length, cause: clipped(&cause.to_string()), came: shown(json) };
                self.fail();
                Some(Err(error))
            }
        }
    }

    fn fail(&mut self) {
        self.broken = true;
        self.taken = 0;
        self.buffer = Vec::new();
    }
}

/// Appends `frame` to `out`. On an error `out` is as it was.
pub fn encode<T: Serialize + ?Sized>(frame: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let json = serde_json::to_vec(frame).map_err(|e| CodecError::Unwritable { cause: e.to_string() })?;
    let length = u32::try_from(json.len()).ok().filter(|n| *n <= MAX_FRAME);
    let length = length.ok_or(CodecError::TooLong { length: json.len() as u64 })?;
    out.reserve(HEADER + json.len());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&json);
    Ok(())
}

/// The length in a header, once the header is whole.
fn announced(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<HEADER>().map(|h| u32::from_le_bytes(*h))
}

/// The first bytes, quoted; what is not printable ASCII is escaped.
fn shown(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SHOWN)];
    let mut text = format!("\"{}\"", head.escape_ascii());
    if bytes.len() > SHOWN {
        let _ = write!(text, " and {} more bytes", bytes.len() - SHOWN);
    }
    text
}

/// A parser's message may quote a whole field name: no more than a line of it.
fn clipped(message: &str) -> String {
    const MOST: usize = 200;
    if message.chars().count() <= MOST {
        return message.into();
    }
    message.chars().take(MOST).chain(['…']).collect()
}
