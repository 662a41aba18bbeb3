//! What the worker's threads share: a first-in, first-out queue that can be closed.
//!
//! The primitives come from `super::sync`, so that `tests/loom.rs` checks this very file.

use super::sync::{AtomicU32, Condvar, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

/// The alert that a closed mailbox raises for ever.
pub(crate) const CLOSED: u32 = 1 << 31;

/// A queue between threads. Items come out in the order they went in, each once. Closing it
/// refuses new items and wakes everyone; what it holds can still be taken.
///
/// An item may raise *alerts*, bits that another thread can read without a lock while it is busy
/// with something long: `alerts()` has an item's bits from before its sender returns until
/// the item was taken.
pub(crate) struct Mailbox<T> {
    state: Mutex<State<T>>,
    /// An item came, or the mailbox was closed.
    came: Condvar,
    /// An item was taken, or the mailbox was closed.
    room: Condvar,
    alerts: AtomicU32,
    bound: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    closed: bool,
    /// Threads that wait for an item, and for room; with none, nobody has to be woken.
    takers: usize,
    senders: usize,
}

/// Why an item was not taken in; it comes back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<T> {
    /// The mailbox holds as many as it may.
    Full(T),
    /// It is closed.
    Closed(T),
}

impl<T> Mailbox<T> {
    /// An empty mailbox for `bound` items.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            state: Mutex::new(State { queue: VecDeque::new(), closed: false, takers: 0, senders: 0 }),
            came: Condvar::new(),
            room: Condvar::new(),
            alerts: AtomicU32::new(0),
            bound,
        }
    }

    /// The alerts of the items inside; [`CLOSED`] once it is closed. Takes no lock.
    pub(crate) fn alerts(&self) -> u32 {
        self.alerts.load(Ordering::Acquire)
    }

    /// Puts `item` in, waiting for room. The item comes back where the mailbox is closed.
    pub(crate) fn send(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        while state.queue.len() >= self.bound && !state.closed {
            state.senders += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.senders -= 1;
        }
        self.put(state, item, 0).map_err(|refused| match refused {
            Refused::Full(item) | Refused::Closed(item) => item,
        })
    }

    /// Puts `item` in where there is room; never waits.
    pub(crate) fn offer(&self, item: T, alerts: u32) -> Result<(), Refused<T>> {
        let state = self.lock();
        if state.queue.len() >= self.bound && !state.closed {
            return Err(Refused::Full(item));
        }
        self.put(state, item, alerts)
    }

    /// Puts `item` in past the bound; never waits. For senders that are bounded by other means.
    pub(crate) fn push(&self, item: T, alerts: u32) -> Result<(), Refused<T>> {
        self.put(self.lock(), item, alerts)
    }

    /// Takes the oldest item, waiting for one. `None` once it is closed and empty.
    pub(crate) fn recv(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.queue.pop_front() {
                self.taken(&state);
                return Some(item);
            }
            if state.closed {
                return None;
            }
            state = self.wait_for_item(state);
        }
    }

    /// Moves everything inside to the end of `into`, without waiting. Whether more can come.
    pub(crate) fn take_all(&self, into: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        into.extend(state.queue.drain(..));
        self.taken(&state);
        !state.closed
    }

    /// Whether nothing is inside.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().queue.is_empty()
    }

    /// Waits until something is inside, the mailbox is closed, or `timeout` passed.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closed {
            let Some(timeout) = timeout else {
                state = self.wait_for_item(state);
                continue;
            };
            // Waking early is harmless: the caller looks again and comes back.
            state.takers += 1;
            let waited = self.came.wait_timeout(state, timeout);
            waited.unwrap_or_else(PoisonError::into_inner).0.takers -= 1;
            return;
        }
    }

    /// Refuses items from now on and wakes everyone who waits.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.alerts.fetch_or(CLOSED, Ordering::Release);
        drop(state);
        self.came.notify_all();
        self.room.notify_all();
    }

    fn wait_for_item<'a>(&'a self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.takers += 1;
        let mut state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.takers -= 1;
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, item: T, alerts: u32) -> Result<(), Refused<T>> {
        if state.closed {
            return Err(Refused::Closed(item));
        }
        state.queue.push_back(item);
        self.alerts.fetch_or(alerts & !CLOSED, Ordering::Release);
        let wake = state.takers > 0;
        drop(state);
        if wake {
            self.came.notify_one();
        }
        Ok(())
    }

    /// Items were taken, with the lock held.
    fn taken(&self, state: &State<T>) {
        if state.queue.is_empty() {
            self.alerts.fetch_and(CLOSED, Ordering::AcqRel);
        }
        if state.senders > 0 {
            self.room.notify_all();
        }
    }
}
