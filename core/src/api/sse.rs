//! Server-sent events as bytes.

use alloc::vec::Vec;

/// The event that ends a whole stream.
pub(super) const DONE: &[u8] = b"data: [DONE]\n\n";
/// A comment: bytes on the line, nothing for the client's program.
pub(super) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// One event. `json` has no line breaks: JSON writes those in strings as `\n`.
pub(super) fn event(json: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(json.len() + 8);
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(json);
    event.extend_from_slice(b"\n\n");
    event
}
