//! Frames that could not be written at once.

use super::shared::Shared;

/// Writes what comes until the outbox is closed and empty, or the line is gone.
pub(super) fn run(shared: &Shared) {
    loop {
        shared.outbox.wait(None);
        match shared.line.write_waiting(&shared.outbox) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return shared.hang_up(&error),
        }
    }
}
