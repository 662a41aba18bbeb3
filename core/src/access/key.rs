//! The API key: what may be one, and whether a client shows it.

use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use sha2::{Digest, Sha256};

/// Bytes a key may have; it goes into a header.
const MOST: usize = 1024;

/// A key out of a flag, a variable or a file, without the white space around it.
///
/// # Errors
/// `bad_api_key` where no client could send it: empty, or with characters a header can't carry.
/// `from` says where it came from.
pub fn parse_key(text: &str, from: &str) -> Result<String, Refusal> {
    let key = text.trim();
    let bad = |why: String| Err(Refusal::new("bad_api_key", format!("{from} {why}")));
    if key.is_empty() {
        let refusal = Refusal::new("bad_api_key", format!("{from} is empty"));
        return Err(refusal.hint("give a key, or leave it out to serve without one"));
    }
    if key.len() > MOST {
        return bad(format!("has {} bytes, and a key has at most {MOST}", key.len()));
    }
    if !key.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return bad("holds characters that a header can't carry: line breaks, or what is not ASCII".into());
    }
    Ok(key.into())
}

/// Compares digests to the last byte, so that time tells neither length nor common prefix.
pub(super) fn same(ours: &str, theirs: &str) -> bool {
    let (a, b) = (Sha256::digest(ours), Sha256::digest(theirs));
    core::hint::black_box(a.iter().zip(b.iter()).fold(0, |diff, (x, y)| diff | (x ^ y))) == 0
}
