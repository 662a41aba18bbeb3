//! What tells one model's files from another's.
//!
//! A model is too large to be read whole each time it is loaded. Its digest is over each file's name,
//! length and time of change and what stands at many places in it: weights that were trained further
//! differ nearly everywhere, and a file that was made anew has another time. A copy of a model is taken
//! for another model, which costs time and nothing else.

use super::hex;
use alloc::string::String;
use core::ops::Range;
use core::time::Duration;
use sha2::{Digest, Sha256};

/// Places that are read, and bytes at each.
const PLACES: u64 = 64;
const BYTES: u64 = 16 << 10;

/// The parts of a file of `len` bytes that are read: its begin, its end, and what lies evenly between.
pub fn samples(len: u64) -> impl Iterator<Item = Range<u64>> {
    let whole = len <= PLACES * BYTES;
    let places = if whole { 1 } else { PLACES };
    let last = u128::from(len.saturating_sub(BYTES));
    (0..places).map(move |place| {
        // The last begins so that it ends with the file.
        let start = u64::try_from(last * u128::from(place) / u128::from(PLACES - 1)).unwrap_or(0);
        if whole { 0..len } else { start..start + BYTES }
    })
}

/// Makes a model's digest of its files, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct ModelDigest(Sha256);

impl ModelDigest {
    /// Goes on with a file; what its [`samples`] hold follows.
    pub fn file(&mut self, name: &str, len: u64, changed: Duration) {
        self.sample(name.as_bytes());
        self.0.update(len.to_le_bytes());
        self.0.update(changed.as_nanos().to_le_bytes());
    }

    /// What stands at one of its places.
    pub fn sample(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The digest: 64 lower-case hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
