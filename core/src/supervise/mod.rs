//! What to do about one model's worker process: spawn, handshake, load, serve, restart, drain.
//!
//! [`Supervisor`] decides; a driver spawns the process, carries frames both ways and reports how it
//! ended. The driver numbers nothing itself: each process is named by the [`Life`] its
//! [`Effect::Spawn`] carried, so that what an earlier process said or how it ended can't be taken
//! for its successor's.
//!
//! Every job that was submitted ends in exactly one [`Event::Finished`] or [`Event::Failed`],
//! whatever happens to the process in between: a job whose worker dies is given to the successor with
//! the tokens that were generated, and its updates go on where they were. Only a job that was with two
//! workers in a row when they died is failed. [`Event::Accepted`] is told once.

mod config;
mod event;
mod exit;
mod jobs;
mod machine;
mod permanent;
mod reason;

pub use config::Config;
pub use event::{Death, Effect, Event, Life, Status, Totals, Wake};
pub use exit::{Exit, ExitStatus};
pub use machine::Supervisor;
pub use permanent::is_permanent;
pub use reason::{installing, over};
