//! The device thread: steps of the scheduler, carried out.

use super::Ended;
use super::brain::Brain;
use super::shared::Shared;
use super::shelf::Shelf;
use crate::primitives::{Batch, BatchRow, Primitives, StepError};
use std::cell::RefCell;
use std::time::Instant;
use superfluid_core::Refusal;
use superfluid_core::sched::{RowResult, Step, StepFault, StepOutcome};

/// Runs until the daemon is gone, has drained the worker, or the engine cannot go on.
pub(super) fn run(mut primitives: Box<dyn Primitives>, brain: Brain, shared: &Shared) -> Ended {
    // Shared with the question a pass asks at its boundaries, which is on this thread too.
    let brain = RefCell::new(brain);
    let mut shelf = Shelf::default();
    loop {
        brain.borrow_mut().take_commands();
        if let Some(refusal) = brain.borrow_mut().take_broken() {
            return Ended::Failed(refusal);
        }
        if brain.borrow().is_alone() {
            return Ended::LinkClosed;
        }
        let step = brain.borrow_mut().poll_step();
        let Some(step) = step else {
            if brain.borrow().is_drained() {
                return Ended::Drained;
            }
            let timeout = brain.borrow().poll_timeout();
            shared.inbox.wait(timeout);
            continue;
        };
        let began = Instant::now();
        let result = pass(&mut *primitives, &mut shelf, &brain, &step);
        let fatal = match &result {
            Err(StepFault::Fatal { refusal }) => Some(refusal.clone()),
            _ => None,
        };
        let outcome = StepOutcome { id: step.id, elapsed: began.elapsed(), result };
        if let Err(misuse) = brain.borrow_mut().handle_outcome(outcome) {
            return Ended::Failed(Refusal::new(
                "internal_error",
                format!("the scheduler was misused: {misuse}"),
            ));
        }
        if let Some(refusal) = fatal {
            return Ended::Failed(refusal);
        }
    }
}

fn pass(
    primitives: &mut dyn Primitives,
    shelf: &mut Shelf,
    brain: &RefCell<Brain>,
    step: &Step,
) -> Result<Vec<RowResult>, StepFault> {
    shelf.apply(primitives, &step.ops)?;
    if step.rows.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<BatchRow<'_>> = {
        let brain = brain.borrow();
        let row = |rows| brain.pick(rows);
        step.rows
            .iter()
            .map(|rows| BatchRow {
                seq: rows.seq.0,
                start: rows.start,
                tokens: &rows.tokens,
                pick: row(rows),
            })
            .collect()
    };
    let give_up = || brain.borrow_mut().should_give_up();
    primitives.step(Batch { rows: &rows }, &give_up).map_err(|error| match error {
        StepError::Capacity => StepFault::Capacity,
        StepError::Aborted { fed } => StepFault::Yielded { fed },
        StepError::Fatal(refusal) => StepFault::Fatal { refusal },
    })?;
    let mut brain = brain.borrow_mut();
    let results = step.rows.iter().enumerate().map(|(at, rows)| brain.result(rows, &primitives.picked(at)));
    Ok(results.collect())
}
