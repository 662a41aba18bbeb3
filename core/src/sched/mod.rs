//! The generic executor's brain: which tokens run in the next device step.
//!
//! Decision out, outcome in: [`Step`] leaves by `poll_step`, [`StepOutcome`] comes back by
//! `handle_outcome`; at most one step is in flight. The scheduler holds token ids and positions,
//! never logits or text: the worker samples, and tells the scheduler which token came out and
//! whether the job ends with it.
//!
//! | file | idea |
//! |---|---|
//! | `scheduler` | the machine: getters, `handle_outcome`, verbs, polls |
//! | `queue` | who waits, and who is next |
//! | `plan` | who runs, and what is in the next step |
//! | `follow` | who waits for a running job to run what both share |
//! | `part` | where a state that cannot be cut is kept for waiting jobs |
//! | `preempt` | who gives its lane to somebody more urgent |
//! | `pause` | who runs no further until its client takes what there is |
//! | `seqs`, `prefix` | what the device holds (tokens in [`cache`](crate::cache)); where a job's prompt is held already |
//! | `shelf` | what host memory holds of states that left the device |
//! | `losses` | what else comes to nothing when a state cannot be moved |
//! | `tolls` | what copies and imports cost, learned from passes that had them |
//! | `budget` | how many prompt tokens go beside decode rows |
//! | `waste` | how much work passes that are given up may throw away |
//! | `outcome` | what a step's outcome means |

mod budget;
mod config;
mod follow;
mod invariants;
mod job;
mod lanes;
mod live;
mod losses;
mod outcome;
mod part;
mod pause;
mod plan;
mod preempt;
mod prefix;
mod queue;
mod refuse;
mod scheduler;
mod seqs;
mod shelf;
mod step;
mod tolls;
mod waste;

pub use config::Config;
pub use job::{Class, Event, Finish, Job, JobId, Token, Usage};
pub use lanes::parse_class_lanes;
pub use losses::Losses;
pub use scheduler::{Scheduler, Why};
pub use step::{
    Copying, Cut, End, Engine, Keeping, RowResult, Rows, SeqId, SeqOp, StateId, Step, StepFault, StepId,
    StepOutcome, Want,
};
