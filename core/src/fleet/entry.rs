//! One model in the fleet.

use super::event::{AskId, Load, RequestId, Standing};
use crate::refusal::Refusal;
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Unloaded,
    /// Waits for room since the order-th wish.
    Queued {
        order: u64,
    },
    Loading {
        load: Load,
    },
    Up {
        load: Load,
    },
    /// Takes nothing new; drained once nothing runs.
    Emptying {
        load: Load,
    },
    /// Told to end.
    Closing {
        load: Load,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) refusal: Refusal,
    /// From then on a request tries again; never where it is `None`.
    pub(super) until: Option<Instant>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) at_start: bool,
    pub(super) state: State,
    /// Whether requests wait for the load; at the start they are told to come back.
    pub(super) patient: bool,
    /// Whether it has been up, ever.
    pub(super) proven: bool,
    pub(super) failure: Option<Failure>,
    /// Requests with the present load.
    pub(super) running: usize,
    /// Requests that wait for a load, with their deadlines.
    pub(super) pending: VecDeque<(RequestId, Option<Instant>)>,
    pub(super) loads: Vec<AskId>,
    pub(super) unloads: Vec<AskId>,
    /// When it last had something to do.
    pub(super) used: Instant,
}

impl Entry {
    pub(super) fn new(id: String, at_start: bool, now: Instant) -> Self {
        Self {
            id,
            at_start,
            state: State::Unloaded,
            patient: true,
            proven: false,
            failure: None,
            running: 0,
            pending: VecDeque::new(),
            loads: Vec::new(),
            unloads: Vec::new(),
            used: now,
        }
    }

    pub(super) fn load(&self) -> Option<Load> {
        match self.state {
            State::Loading { load }
            | State::Up { load }
            | State::Emptying { load }
            | State::Closing { load } => Some(load),
            State::Unloaded | State::Queued { .. } => None,
        }
    }

    pub(super) fn standing(&self) -> Standing {
        match self.state {
            State::Unloaded if self.failure.is_some() => Standing::Failed,
            State::Unloaded => Standing::Unloaded,
            State::Queued { .. } => Standing::Queued,
            State::Loading { .. } => Standing::Loading,
            State::Up { .. } => Standing::Loaded,
            State::Emptying { .. } | State::Closing { .. } => Standing::Unloading,
        }
    }

    /// Whether somebody waits for it.
    pub(super) fn is_wanted(&self) -> bool {
        !self.pending.is_empty() || !self.loads.is_empty()
    }

    /// Whether it is up with nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Up { .. }) && self.running == 0
    }
}
