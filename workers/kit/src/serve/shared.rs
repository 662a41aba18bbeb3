//! What the threads share.

use super::line::Line;
use super::prepare::{Prepare, Prepared};
use crate::mailbox::Mailbox;
use std::sync::{Mutex, PoisonError};
use superfluid_core::Refusal;
use superfluid_core::sched::JobId;
use superfluid_core::wire::{LoadSpec, Stats, ToDaemon};

/// Raised by everything that may change what the device should do now.
pub(super) const COMMAND: u32 = 1;

/// From the reader to the device.
pub(super) enum ToDevice {
    Load(LoadSpec),
    Submit(Box<Prepared>),
    Cancel(JobId),
    /// Run it no further, or (`false`) go on.
    Pause(JobId, bool),
    Drain,
    /// The link cannot go on.
    Broken(Refusal),
}

/// The mailboxes between the threads, and the gauges.
pub(super) struct Shared {
    /// Reader to device; closed when the daemon closes the link.
    pub(super) inbox: Mailbox<ToDevice>,
    /// Everyone to the writer; closed when the wire is gone or the worker ends.
    pub(super) outbox: Mailbox<ToDaemon>,
    pub(super) line: Line,
    /// Device to reader: how jobs are prepared, once the model is loaded.
    pub(super) ready: Mailbox<Prepare>,
    /// Reader to watchdog: one item when a request's preparation begins, one when it is done; the
    /// bytes it goes over.
    pub(super) preparing: Mailbox<usize>,
    /// Closed when the worker has ended.
    pub(super) done: Mailbox<()>,
    pub(super) gauges: Gauges,
}

/// What the device is doing, for answers to pings.
#[derive(Default)]
pub(super) struct Gauges(Mutex<Stats>);

impl Gauges {
    pub(super) fn set(&self, stats: Stats) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }

    pub(super) fn get(&self) -> Stats {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
