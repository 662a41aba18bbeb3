//! The primitives [`mailbox`](super::mailbox) is made of, in one place: the loom model gives the
//! same file loom's instead.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
