//! The GGUF reader against anything.

use super::file::{good, read};
use proptest::prelude::*;
use superfluid_core::runtime::gguf::{Header, Parsed};

fn never_panics(bytes: &[u8], file_len: u64) {
    match Header::parse(bytes, file_len) {
        Ok(Parsed::NeedMore { bytes: more }) => {
            assert!(more > bytes.len() as u64 && more <= file_len);
        }
        Ok(Parsed::Header(header)) => {
            assert!(u128::from(header.data_start) <= bytes.len() as u128 + (1 << 20));
            assert!(header.tensors.len() * 32 <= bytes.len());
            let _ =
                (header.servable("m.gguf"), header.context_length(), header.token_count(), header.split());
        }
        Err(error) => assert!(!error.refusal("m.gguf").message.is_empty()),
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes(tail in proptest::collection::vec(any::<u8>(), 0..512), magic: bool, extra in 0_u64..1 << 40) {
        let bytes = if magic { [b"GGUF\x03\0\0\0".as_slice(), &tail].concat() } else { tail };
        never_panics(&bytes, bytes.len() as u64 + extra);
        never_panics(&bytes, bytes.len() as u64);
    }

    /// A valid file with a few bytes changed, then cut: an answer, and the same one from any
    /// first prefix.
    #[test]
    fn mutations_of_a_good_file(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<proptest::sample::Index>(),
        first in any::<proptest::sample::Index>(),
        whole: bool,
    ) {
        let mut bytes = good().bytes();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        never_panics(&bytes, bytes.len() as u64);
        let first = first.index(bytes.len() + 1);
        prop_assert_eq!(read(&bytes, first), read(&bytes, bytes.len()));
    }

    /// Eight bytes, where lengths and counts stand, set to extremes.
    #[test]
    fn extreme_lengths(at in any::<proptest::sample::Index>(), value in prop_oneof![
        Just(u64::MAX), Just(1 << 63), Just(1 << 62), Just(1 << 32), Just(0), any::<u64>(),
    ]) {
        let mut bytes = good().bytes();
        let at = at.index(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        never_panics(&bytes, bytes.len() as u64);
        never_panics(&bytes, u64::MAX);
    }
}
