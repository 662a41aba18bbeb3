//! Every decision superfluid makes, as state machines and pure values without IO.
//!
//! # The law of use
//!
//! A machine has four kinds of methods, documented in this order:
//!
//! 1. **getters** change nothing;
//! 2. **`handle_*`** tell it that the world happened (an effect was answered, time passed);
//! 3. **verbs** (`submit`, `cancel`, `install`, …) ask it for something;
//! 4. **`poll_*`** say what it wants next, in the documented order.
//!
//! Give a machine *one* input (a `handle_*` or a verb), then drain every `poll_*` until it returns
//! `None`, then wait for the next input or for the instant `poll_timeout` names. Breaking the law
//! is a typed [`Misuse`], never a panic.
//!
//! IO leaves a machine as *effects*: plain data with an id, each answered exactly once. Time is an
//! argument ([`Instant`]), never read. Same inputs, same outputs, byte for byte, so
//! a recorded log of inputs replays to the same decisions.
//!
//! # The rooms
//!
//! | module | question it answers |
//! |---|---|
//! | [`host`] | what machine is this? (facts parsed from probe texts) |
//! | [`runtime`] | which runtime serves this model, and where is its worker? |
//! | [`install`] | what to fetch, how to place it so that it is whole or absent |
//! | [`pull`] | which files of a hub's repository are wanted, and are they whole? |
//! | [`capability`] | what can the loaded model do, and which flags and requests does that refuse? |
//! | [`cache`] | which states are held for which tokens? |
//! | [`park`] | is a state on disk what it should be, and which one has to go? |
//! | [`sched`] | which tokens run in the next device step? |
//! | [`supervise`] | what to do about a worker process now? |
//! | [`fleet`] | which models are loaded, and where does a request go? |
//! | [`wire`] | the frames between daemon and worker |
//! | [`text`] | text out of tokens: UTF-8 across tokens, stop strings |
//! | [`access`] | may this HTTP request come in? (Host, Origin, key) |
//! | [`api`] | OpenAI request and response shapes, bounded |
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod access;
pub mod api;
pub mod cache;
pub mod capability;
pub mod fleet;
pub mod host;
pub mod install;
pub mod machine;
pub mod park;
pub mod pull;
pub mod refusal;
pub mod runtime;
pub mod sched;
pub mod supervise;
pub mod text;
pub mod time;
pub mod wire;

/// The readme's example of driving a machine, run as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

pub use machine::Misuse;
pub use refusal::Refusal;
pub use time::{Duration, Instant};
