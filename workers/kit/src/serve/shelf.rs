//! States in host memory, and the changes a step makes to sequences.

use crate::primitives::Primitives;
use std::collections::BTreeMap;
use superfluid_core::sched::{Losses, SeqOp, StateId, StepFault};

/// Exported states by the scheduler's names for them.
#[derive(Debug, Default)]
pub(super) struct Shelf(BTreeMap<StateId, Vec<u8>>);

impl Shelf {
    /// Does a step's changes in order. A state that cannot be moved takes with it what the step was to
    /// make of it, and nothing else.
    pub(super) fn apply(&mut self, primitives: &mut dyn Primitives, ops: &[SeqOp]) -> Result<(), StepFault> {
        let mut losses = Losses::default();
        for &op in ops {
            if losses.skips(op) {
                continue;
            }
            match op {
                SeqOp::Export { seq, state, .. } => match primitives.export(seq) {
                    Ok(bytes) => {
                        self.0.insert(state, bytes);
                    }
                    Err(refusal) => {
                        eprintln!("a state was not saved: {refusal}");
                        losses.fail(op);
                    }
                },
                SeqOp::Import { state, seq, len } => {
                    // A name that is not there is the same as bytes that cannot be read.
                    let bytes = self.0.get(&state).map_or(&[][..], Vec::as_slice);
                    if let Err(refusal) = primitives.import(seq, len, bytes) {
                        eprintln!("a state could not be used, so its tokens are run again: {refusal}");
                        losses.fail(op);
                    }
                }
                SeqOp::Drop { state } => {
                    self.0.remove(&state);
                }
                SeqOp::Clear { .. } | SeqOp::Truncate { .. } | SeqOp::Copy { .. } => {
                    primitives.apply(op).map_err(|refusal| StepFault::Fatal { refusal })?;
                }
            }
        }
        for state in losses.states() {
            self.0.remove(&state);
        }
        if losses.is_empty() { Ok(()) } else { Err(StepFault::Lost { states: losses.states().collect() }) }
    }
}
