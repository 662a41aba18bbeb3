//! What all machines share: the ids of effects and the typed error for breaking the law of use.

use serde::{Deserialize, Serialize};

/// Names one effect of one machine; answered exactly once. Ids start at 1 and only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

impl EffectId {
    /// Returns the current id and moves on to the next.
    pub fn take_next(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}

/// The driver broke the law of use. The machine's state is as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub enum Misuse {
    /// An outcome for an effect or step that is not in flight: never issued, or already answered.
    #[error("no effect {0} is in flight")]
    UnknownEffect(u64),
    /// The outcome is of another kind, or another shape, than the effect or step it answers.
    #[error("the outcome does not fit effect {0}")]
    WrongOutcome(u64),
    /// An id the caller chose is already in use.
    #[error("id {0} is in use")]
    DuplicateId(u64),
    /// The verb does not apply in the machine's present state.
    #[error("not possible in this state: {0}")]
    State(&'static str),
}

/// A broken invariant, found by a machine's `check_invariants`; always a bug in core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant broken: {0}")]
pub struct Broken(pub alloc::string::String);
