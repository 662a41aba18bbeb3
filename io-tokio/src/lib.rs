//! The daemon: worker links and the OpenAI-compatible HTTP API over tokio.
//!
//! It carries out what `superfluid_core` decides. [`worker`] runs one supervised worker process a
//! model, [`fleet`] loads and unloads models, [`http`] serves clients, [`install`] places runtimes beside
//! them. Everything runs well on a current-thread runtime: the daemon
//! moves text, the worker computes.

pub mod fleet;
pub mod http;
pub mod install;
pub mod metrics;
pub mod worker;
