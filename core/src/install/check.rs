//! What comes from outside and later meets a path, an address or a digest, held to narrow patterns.

use super::InstallName;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;

/// A SHA-256 as lower-case hex, 64 digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sha256(String);

impl Sha256 {
    /// Reads 64 hex digits of either case, with or without `sha256:` in front.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let wrong = match digits {
            "" => "it is empty".into(),
            _ if digits.contains(char::is_whitespace) => "there is white space in it".into(),
            _ if !digits.bytes().all(|b| b.is_ascii_hexdigit()) => "not all of it is hex digits".into(),
            _ if digits.len() != 64 => format!("it has {} digits instead of 64", digits.len()),
            _ => return Ok(Self(digits.to_ascii_lowercase())),
        };
        let shown: String = text.chars().take(80).collect();
        Err(Refusal::new("bad_sha256", format!("{shown:?} is not a SHA-256: {wrong}"))
            .hint("sha256sum <archive> prints it"))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> Self {
        digest.0
    }
}

/// Checks a version: letters, digits, `.`, `_`, `+`, `-`, at most 64 bytes, a letter or digit
/// first, no `..`.
pub fn version(text: &str) -> Result<(), Refusal> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-');
    let good = text.len() <= 64
        && text.bytes().all(plain)
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && !text.contains("..");
    if good {
        return Ok(());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Refusal::new("bad_version", format!("{shown:?} is not a version"))
        .hint("a version looks like b11284 or 0.32.2"))
}

/// Checks a backend: lower-case letters and digits, then perhaps a dash and a version.
pub fn backend(text: &str) -> Result<(), Refusal> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
    let good = text.len() <= 32
        && text.bytes().all(plain)
        && text.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && !text.contains("..")
        && !text.ends_with(['.', '-']);
    if good {
        return Ok(());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Refusal::new("bad_backend", format!("{shown:?} is not a backend"))
        .hint("backends are metal, cuda, rocm, vulkan, sycl, openvino and cpu"))
}

/// A file name that may be staged under: `name` itself where it is plain, else `fallback`.
pub(super) fn staged_name(name: &str, fallback: &str) -> String {
    InstallName::new(name).map_or_else(|_| fallback.into(), |name| name.as_str().into())
}
