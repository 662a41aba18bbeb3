//! Reads little-endian values from a prefix of a file, and tells "not read yet" from "not there".

use super::GgufError;
use alloc::format;
use alloc::string::String;

/// A file that lacks more than this was not cut short; its header claims nonsense.
const LARGEST_FILE: u64 = 1 << 44;

/// Why reading stopped.
pub(super) enum Stop {
    /// The file has these bytes, the prefix does not.
    NeedMore(u64),
    /// The file is not what it says.
    Error(GgufError),
}

pub(super) struct Reader<'a> {
    prefix: &'a [u8],
    at: usize,
    file_len: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(prefix: &'a [u8], file_len: u64) -> Self {
        // A file that grew meanwhile is as long as what was read of it.
        Self { prefix, at: 0, file_len: file_len.max(prefix.len() as u64) }
    }

    pub(super) const fn position(&self) -> u64 {
        self.at as u64
    }

    pub(super) const fn file_len(&self) -> u64 {
        self.file_len
    }

    #[expect(clippy::unused_self, reason = "reads as a word of the reader at the call")]
    pub(super) fn broken(&self, what: impl Into<String>) -> Stop {
        Stop::Error(GgufError::Broken(what.into()))
    }

    /// The next `len` bytes, borrowed: nothing is allocated before they are there.
    pub(super) fn bytes(&mut self, len: u64, what: &str) -> Result<&'a [u8], Stop> {
        let end = self.end(len, what)?;
        let prefix = self.prefix;
        let bytes = usize::try_from(end).ok().and_then(|end| prefix.get(self.at..end));
        let Some(bytes) = bytes else { return Err(Stop::NeedMore(end)) };
        self.at += bytes.len();
        Ok(bytes)
    }

    /// Fails when the file has no room for `count` items of at least `each` bytes.
    pub(super) fn room_for(&self, count: u64, each: u64, what: &str) -> Result<(), Stop> {
        self.end(count.saturating_mul(each), what).map(|_| ())
    }

    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Stop> {
        let bytes = self.bytes(N as u64, what)?;
        bytes.try_into().map_err(|_| self.broken(what))
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, Stop> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, Stop> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length, then that many bytes.
    pub(super) fn string(&mut self, what: &str) -> Result<&'a [u8], Stop> {
        let len = self.u64(what)?;
        self.bytes(len, what)
    }

    fn end(&self, len: u64, what: &str) -> Result<u64, Stop> {
        let needed = self.position().saturating_add(len);
        if needed > LARGEST_FILE {
            return Err(self.broken(format!("{what} claims more bytes than any file has")));
        }
        if needed > self.file_len {
            let (what, present) = (what.into(), self.file_len);
            return Err(Stop::Error(GgufError::HeaderCut { what, needed, present }));
        }
        Ok(needed)
    }
}
