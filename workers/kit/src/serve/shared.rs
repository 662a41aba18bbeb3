//! What the threads share.

use super::line::Line;
use super::prepare::{Prepare, Prepared};
use crate::mailbox::Mailbox;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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

/// What the device is doing, for answers to pings. Each number is true for itself; together they
/// may be from two moments.
#[derive(Default)]
pub(super) struct Gauges {
    waiting: AtomicU32,
    running: AtomicU32,
    cells: AtomicU32,
    steps: AtomicU64,
}

impl Gauges {
    pub(super) fn set(&self, stats: Stats) {
        self.waiting.store(stats.waiting, Ordering::Relaxed);
        self.running.store(stats.running, Ordering::Relaxed);
        self.cells.store(stats.cells, Ordering::Relaxed);
        self.steps.store(stats.steps, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Stats {
        Stats {
            waiting: self.waiting.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
            cells: self.cells.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
        }
    }
}
