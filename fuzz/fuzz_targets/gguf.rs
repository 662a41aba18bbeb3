//! Any bytes as the start of a GGUF file, as long as the file or cut short.
#![no_main]

use superfluid_core::runtime::gguf::{Header, Parsed};

libfuzzer_sys::fuzz_target!(|file: (u16, &[u8])| {
    let (beyond, prefix) = file;
    let len = prefix.len() as u64 + u64::from(beyond);
    match Header::parse(prefix, len) {
        Ok(Parsed::NeedMore { bytes }) => assert!(bytes > prefix.len() as u64 && bytes <= len),
        Ok(Parsed::Header(header)) => assert!(header.tensors.is_empty() || header.data_start <= len),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
