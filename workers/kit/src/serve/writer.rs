//! Frames onto the wire.

use super::shared::Shared;
use std::io::Write;
use superfluid_core::wire::encode;

/// Bytes after which the wire is given what was put together.
const CHUNK: usize = 64 << 10;

/// Writes what comes until the outbox is closed and empty, or the wire is gone.
pub(super) fn run(shared: &Shared, mut output: impl Write) {
    let mut frames = Vec::new();
    let mut bytes = Vec::new();
    loop {
        shared.outbox.wait(None);
        let open = shared.outbox.take_all(&mut frames);
        for frame in frames.drain(..) {
            if let Err(error) = encode(&frame, &mut bytes) {
                eprintln!("a frame was left out: {error}");
            }
            if bytes.len() >= CHUNK && !put(shared, &mut output, &mut bytes) {
                return;
            }
        }
        if !put(shared, &mut output, &mut bytes) || !open {
            return;
        }
    }
}

/// Whether the wire took the bytes. Where it did not, nobody is there any more: both mailboxes are
/// closed, so that the device stops working for nobody.
fn put(shared: &Shared, output: &mut impl Write, bytes: &mut Vec<u8>) -> bool {
    let written = output.write_all(bytes).and_then(|()| output.flush());
    bytes.clear();
    if let Err(error) = &written {
        eprintln!("the daemon does not read any more: {error}");
        shared.outbox.close();
        shared.inbox.close();
    }
    written.is_ok()
}
