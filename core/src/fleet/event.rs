//! What leaves the fleet, and the names of things.

use crate::refusal::Refusal;
use serde::{Deserialize, Serialize};

/// A model, by its place in the list the fleet was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelIx(pub usize);

/// Names one load of one model; counts from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Load(pub u64);

/// Names a request; chosen by the driver, unique while the request lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// Names an operator's wish to load or unload; chosen by the driver, unique while it is unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u64);

/// What the driver must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Start a worker and load the model. Answered by at most one `handle_ready`, and whatever
    /// happens by one `handle_gone`.
    Start {
        /// Which model.
        model: ModelIx,
        /// The load's name.
        load: Load,
    },
    /// Let the load finish what it has and end. Answered by `handle_gone`.
    Drain {
        /// Which.
        load: Load,
    },
    /// End the load now. Answered by `handle_gone`.
    Stop {
        /// Which.
        load: Load,
    },
}

/// How a load ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "gone", rename_all = "snake_case")]
pub enum Gone {
    /// As it was asked to.
    Stopped {
        /// Requests that were ended unfinished for it.
        cut: u64,
    },
    /// It could not be started, or not be kept up.
    Failed {
        /// Why.
        refusal: Refusal,
    },
}

/// What happened, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The request goes to this load, whose worker takes it from here. `done` is owed.
    Go {
        /// Which request.
        request: RequestId,
        /// Where to.
        load: Load,
    },
    /// The request goes nowhere. It is over.
    Refused {
        /// Which request.
        request: RequestId,
        /// Why.
        refusal: Refusal,
    },
    /// The operator's wish came true, or can't.
    Answered {
        /// Which.
        ask: AskId,
        /// Why not.
        refusal: Option<Refusal>,
    },
    /// Every model was to be loaded at the start, and none of them could be. Nothing has been served, and
    /// nothing will be unless somebody changes something. Told once, if ever; a model that is loaded on
    /// its first use never causes it, and where there is one it is not told at all.
    Hopeless,
    /// Every load is gone after `drain` or `stop`. Only refusals follow.
    Stopped {
        /// Requests that were ended unfinished for it, of all loads.
        cut: u64,
    },
}

/// Where a model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Not loaded; its next request loads it.
    Unloaded,
    /// Wanted, and waits for another model to make room.
    Queued,
    /// Being loaded.
    Loading,
    /// Serves.
    Loaded,
    /// Finishes what it has, then ends.
    Unloading,
    /// Could not be loaded or kept up.
    Failed,
}

impl Standing {
    /// The word for it in `/v1/models`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unloaded => "unloaded",
            Self::Queued => "queued",
            Self::Loading => "loading",
            Self::Loaded => "loaded",
            Self::Unloading => "unloading",
            Self::Failed => "failed",
        }
    }
}

/// What the fleet waits for at the instant `poll_timeout` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// A waiting request's deadline is over.
    Deadline,
    /// A model has had nothing to do for too long.
    Idle,
}
