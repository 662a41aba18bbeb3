//! What else comes to nothing in a step when a state cannot be moved.

use super::{SeqId, SeqOp, StateId};
use alloc::collections::BTreeSet;

/// Follows a step's changes past one that failed. Whoever carries a step out asks before each change,
/// in order; the scheduler does the same when it is told which states were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    states: BTreeSet<StateId>,
    seqs: BTreeSet<SeqId>,
}

impl Losses {
    /// Losses that begin with these states.
    pub fn of(states: impl IntoIterator<Item = StateId>) -> Self {
        Self { states: states.into_iter().collect(), seqs: BTreeSet::new() }
    }

    /// An export or import failed.
    pub fn fail(&mut self, op: SeqOp) {
        match op {
            SeqOp::Export { state, .. } => {
                self.states.insert(state);
            }
            SeqOp::Import { state, seq, .. } => {
                self.states.insert(state);
                self.seqs.insert(seq);
            }
            SeqOp::Clear { .. } | SeqOp::Truncate { .. } | SeqOp::Copy { .. } | SeqOp::Drop { .. } => {}
        }
    }

    /// Whether a change must be skipped because what it builds on is not there.
    pub fn skips(&mut self, op: SeqOp) -> bool {
        match op {
            SeqOp::Clear { seq } => {
                self.seqs.remove(&seq);
                false
            }
            SeqOp::Truncate { seq, .. } => self.seqs.contains(&seq),
            SeqOp::Copy { from, to, .. } => {
                let skips = self.seqs.contains(&from);
                self.seqs.extend(skips.then_some(to));
                skips
            }
            SeqOp::Export { seq, state, .. } => {
                let skips = self.seqs.contains(&seq);
                self.states.extend(skips.then_some(state));
                skips
            }
            SeqOp::Import { state, seq, .. } => {
                let skips = self.states.contains(&state);
                self.seqs.extend(skips.then_some(seq));
                skips
            }
            SeqOp::Drop { .. } => false,
        }
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// States that are no more.
    pub fn states(&self) -> impl Iterator<Item = StateId> {
        self.states.iter().copied()
    }

    /// Sequences that do not hold what they should.
    pub fn seqs(&self) -> impl Iterator<Item = SeqId> {
        self.seqs.iter().copied()
    }
}
