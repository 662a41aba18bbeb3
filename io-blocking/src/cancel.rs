//! Giving up on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use superfluid_core::install::machine::{Fault, FaultKind};

/// How soon a wait notices that it is given up.
const NOTICE: Duration = Duration::from_millis(50);

/// Whether what runs is to be given up; shared with whoever hears that.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Gives it up.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is given up.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits, unless it is given up before.
    pub(crate) fn sleep(&self, time: Duration) {
        let begun = Instant::now();
        while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if self.asked() {
                return;
            }
            std::thread::sleep(left.min(NOTICE));
        }
    }

    /// Tries until it goes or is given up.
    pub(crate) fn until<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if let Some(done) = attempt() {
                return Some(done);
            }
            if self.asked() {
                return None;
            }
            std::thread::sleep(NOTICE);
        }
    }

    /// What an effect that was given up answers; the machine has been told as well.
    pub(crate) fn fault() -> Fault {
        Fault::new(FaultKind::Other, "given up on request")
    }
}
