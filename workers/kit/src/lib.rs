//! What every worker is built from.
//!
//! A worker crate implements [`Runtime`] (how to look around and load a model) and
//! [`Primitives`] (what the loaded model's device can do) and hands them to the serve loop, which
//! drives core's scheduler, samples, renders chat templates and speaks frames with the daemon.
pub mod primitives;
pub mod runtime;

pub use primitives::{Batch, BatchRow, Pick, Picked, Primitives, StepError};
pub use runtime::{Model, Runtime, Vocabulary};
pub use superfluid_core::capability::{CheckReport, Device};
