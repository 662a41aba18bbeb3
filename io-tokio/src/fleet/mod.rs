//! The daemon's models: core's [`Fleet`](superfluid_core::fleet::Fleet) machine over one
//! [`worker`](crate::worker) a load.
//!
//! [`start`] runs it in a task of its own. Whoever has a request takes a [`Lease`] on its model, which
//! waits where the model is loaded first; the [`Overview`] says where every model stands.

mod keeper;
mod lease;
mod life;

pub use keeper::{Launch, Notice, Prepare, start};
pub use lease::{Fleet, Lease};

use crate::worker::Worker;
use superfluid_core::Refusal;
use superfluid_core::fleet::Standing;
use superfluid_core::supervise::Totals;

/// A model that may be loaded.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its id in the API.
    pub id: String,
    /// Canonical id of its runtime.
    pub runtime: String,
    /// Seconds since 1970 at which the server began to offer it, which the API calls `created`.
    pub created: u64,
    /// Whether it is loaded from the start, and not on its first use.
    pub at_start: bool,
}

/// Where the models stand now.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Whether every model asked for at the start is loaded or can be.
    pub ready: bool,
    /// Whether requests are taken.
    pub serves: bool,
    /// In the order of the models.
    pub models: Vec<ModelView>,
}

/// Where one model stands.
#[derive(Clone, Debug)]
pub struct ModelView {
    /// Where it stands.
    pub standing: Standing,
    /// Why it failed, where it did.
    pub failure: Option<Refusal>,
    /// Requests that wait for it to be loaded.
    pub waiting: usize,
    /// Its present worker, or its last one.
    pub worker: Option<Worker>,
    /// What was counted of the workers before that.
    pub past: Totals,
}
