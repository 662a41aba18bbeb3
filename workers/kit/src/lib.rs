//! What every worker is built from.
//!
//! A worker crate implements [`Runtime`] (how to look around and load a model) and
//! [`Primitives`] (what the loaded model's device can do) and hands them to the serve loop, which
//! drives core's scheduler, samples, renders chat templates and speaks frames with the daemon.

mod command;
pub mod contract;
mod mailbox;
pub mod primitives;
pub mod runtime;
pub mod sample;
mod sandbox;
mod serve;
pub mod stdio;
mod sync;
pub mod template;

pub use command::{VERSION, main, main_with};
pub use primitives::{Batch, BatchRow, Pick, Picked, Primitives, StepError};
pub use runtime::{Model, Runtime, Special, SpecialKind, Vocabulary};
pub use serve::{Ended, serve};
pub use superfluid_core::capability::{CheckReport, Device};
