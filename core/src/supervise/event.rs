//! What leaves the supervisor: effects for the driver, events for whoever serves clients.

use crate::refusal::Refusal;
use crate::sched::{Finish, JobId, Usage};
use crate::time::Duration;
use crate::wire::{JobUpdate, Loaded};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Names one process of the worker; counts from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Life(pub u64);

/// What the driver must do to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Start a process. Answered once by `handle_spawned`; after a success, once more by
    /// `handle_exit` when it has ended.
    Spawn {
        /// Its name.
        life: Life,
    },
    /// Kill the process, which can't be refused or delayed. Answered by `handle_exit`.
    Kill {
        /// Which.
        life: Life,
    },
}

/// Why a worker is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// For people at the terminal; may name files.
    pub refusal: Refusal,
    /// The last lines it wrote on stderr, oldest first.
    pub stderr: Vec<String>,
}

/// What happened, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The worker said who it is.
    Met {
        /// The worker's own version.
        version: String,
    },
    /// Loading goes on.
    Progress {
        /// Share done, in thousandths.
        permille: u32,
    },
    /// The model is loaded; held jobs are on their way.
    Ready(Box<Loaded>),
    /// The worker understood the job.
    Accepted {
        /// Which.
        job: JobId,
        /// Its prompt tokens.
        prompt_tokens: u32,
    },
    /// Tokens and text of one job.
    Update(JobUpdate),
    /// The job ended well, or was cancelled.
    Finished {
        /// Which.
        job: JobId,
        /// Why.
        finish: Finish,
        /// What it used.
        usage: Usage,
    },
    /// The job was refused or failed.
    Failed {
        /// Which.
        job: JobId,
        /// Why.
        refusal: Refusal,
    },
    /// The worker is gone though it should not be.
    Down {
        /// Why.
        death: Death,
        /// When its successor starts; `None` where the supervisor gave up.
        restart_in: Option<Duration>,
    },
    /// The worker is gone as it was asked to. Nothing follows.
    Stopped {
        /// Jobs that were ended unfinished for it.
        cut: u64,
    },
}

/// Where the worker stands, for `/health` and the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// There is no process yet: its runtime is being installed. No supervisor says so, whoever
    /// will start one does.
    Installing,
    /// A process is being started, for the first time.
    Starting,
    /// The model is being loaded, for the first time.
    Loading {
        /// Share done, in thousandths.
        permille: u32,
    },
    /// Jobs run.
    Ready,
    /// Loaded, with nothing to do, and it does not answer. Jobs are given to it all the same.
    Silent,
    /// The worker died and its successor is not ready; jobs are held until it is.
    Restarting,
    /// What runs is finished, nothing new is taken.
    Draining,
    /// Over, as asked.
    Stopped,
    /// Over, by failure.
    Failed,
}

/// What is counted of a worker over all its lives, for `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Processes started after the first.
    pub restarts: u64,
    /// Jobs given to a successor with what they had.
    pub continued: u64,
    /// Times that a job gave its lane to a more urgent one.
    pub preempted: u64,
    /// Prompt tokens whose state was reused: on the device, from host memory, from disk.
    pub reused: [u64; 3],
    /// Prompt tokens that were run: for the first time, again, for nothing.
    pub prefilled: [u64; 3],
}

impl core::ops::Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            restarts: self.restarts.saturating_add(other.restarts),
            continued: self.continued.saturating_add(other.continued),
            preempted: self.preempted.saturating_add(other.preempted),
            reused: add(self.reused, other.reused),
            prefilled: add(self.prefilled, other.prefilled),
        }
    }
}

fn add(one: [u64; 3], other: [u64; 3]) -> [u64; 3] {
    core::array::from_fn(|at| one[at].saturating_add(other[at]))
}

/// What the supervisor waits for at the instant `poll_timeout` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// The worker's `Hello` is overdue.
    Handshake,
    /// The load has stalled.
    Load,
    /// The next `Ping` is due.
    Ping,
    /// The worker has not answered a `Ping`.
    Pong,
    /// It has not, and had nothing else to do.
    Silent,
    /// The worker should have exited by itself.
    Exit,
    /// The successor may start.
    Restart,
    /// What still runs is cut.
    Drain,
    /// A job's deadline is over.
    Deadline,
    /// A job that may have been a worker's end has kept new ones waiting for long enough.
    Trial,
}
