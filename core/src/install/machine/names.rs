//! Temporary names in a runtime's directory. They begin with a dot and lie beside the installs, so
//! that the last step is a rename on one file system and a later run can sweep what a dead one left.

use crate::install::layout::{ASIDE, STAGE, TRASH};
use alloc::format;
use alloc::string::String;

/// The staging directory of one attempt.
pub(super) fn stage(nonce: &str, attempt: usize) -> String {
    format!("{STAGE}{nonce}-{attempt}")
}

/// Where what stood at an install's name waits while another takes its place. A run that finds it
/// with its name free puts it back.
pub(super) fn aside(name: &str) -> String {
    format!("{ASIDE}{name}")
}

/// The name an aside entry came from.
pub(super) fn aside_of(entry: &str) -> Option<&str> {
    entry.strip_prefix(ASIDE).filter(|name| !name.is_empty())
}

/// Where a removed install waits to be deleted.
pub(super) fn trash(nonce: &str, name: &str) -> String {
    format!("{TRASH}{nonce}-{name}")
}

/// Whether a process id and random text may stand in a file name.
pub(super) fn is_nonce(nonce: &str) -> bool {
    !nonce.is_empty() && nonce.len() <= 64 && nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
