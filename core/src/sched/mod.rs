//! The generic executor's brain: which tokens run in the next device step.
//!
//! Decision out, outcome in: [`Step`] leaves by `poll_step`, [`StepOutcome`] comes back by
//! `handle_outcome`; at most one step is in flight. The scheduler holds token ids and positions,
//! never logits or text: the worker samples, and tells the scheduler which token came out and
//! whether the job ends with it.

mod job;
mod step;

pub use job::{Class, Event, Finish, Job, JobId, Token, Usage};
pub use step::{
    Copying, Cut, End, Engine, RowResult, Rows, SeqId, SeqOp, Step, StepFault, StepId, StepOutcome, Want,
};
