//! One model's worker: its process, its link, and the tickets of those who wait for its answers.
//!
//! A worker runs core's [`Supervisor`](superfluid_core::supervise::Supervisor) in a task of its
//! own. Clients talk to it through a [`Worker`]; what happens to the process comes out as
//! [`Notice`]s and, for `/health`, as a [`View`]. [`Unstarted`] is a worker whose runtime may still
//! have to be installed.

mod lines;
mod link;
mod process;
mod ticket;

pub use link::{Notice, Unstarted, View, Worker};
pub use process::Program;
pub use ticket::{End, News, Ticket, Timing};
