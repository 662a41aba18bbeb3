//! Ctrl-C in a command that changes something: the first asks it to undo and end, the second ends it.

use crate::{print, signals};
use signal_hook::iterator::Signals;
use std::sync::OnceLock;
use superfluid_io_blocking::Cancel;

/// What other tools exit with when a signal of the user ended them: 128 and SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// What Ctrl-C, SIGTERM and SIGHUP give up from now on in this process, those aside that it was
/// started to ignore.
pub(crate) fn cancel() -> Cancel {
    static CANCEL: OnceLock<Cancel> = OnceLock::new();
    CANCEL.get_or_init(listen).clone()
}

fn listen() -> Cancel {
    let cancel = Cancel::default();
    let heard = cancel.clone();
    // Without a handler the system's own ends the process, and the next run sweeps.
    if let Ok(mut signals) = Signals::new(signals::heard().map(signals::Ending::number)) {
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if heard.asked() {
                    // What is half done is swept by the next run, as after any sudden end.
                    std::process::exit(INTERRUPTED.into());
                }
                heard.now();
                print::note("giving up; a second signal ends at once");
            }
        });
    }
    cancel
}
