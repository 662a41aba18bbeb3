//! What either side says. A worker's life: `Hello` both ways, `Load`, progress, `Loaded`, then jobs.

use super::{Submit, TokenLogprob};
use crate::capability::{Flags, Record};
use crate::refusal::Refusal;
use crate::sched::{Engine, Finish, JobId, Token, Usage};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What to load and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadSpec {
    /// Path of the model file or directory.
    pub model: String,
    /// Lanes wanted (`--max-batch`).
    pub max_batch: u32,
    /// Tokens one sequence must hold (`--max-context`); `None` lets the runtime size it.
    pub max_context: Option<u32>,
    /// Lanes a class may have at once (`--class-lanes`), by class as in
    /// [`Class::ALL`](crate::sched::Class::ALL); `None` where each may have all.
    pub class_lanes: Option<[u32; 3]>,
    /// What the operator asks of the runtime; a model that cannot honour it is not loaded.
    pub flags: Flags,
}

/// Daemon to worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    /// First frame.
    Hello {
        /// The daemon's [`PROTOCOL`](super::PROTOCOL).
        protocol: u32,
    },
    /// Load a model; once, after the hellos.
    Load(LoadSpec),
    /// Run a job.
    Submit(Submit),
    /// Give up a job. Unknown ids are ignored: the job may just have ended.
    Cancel {
        /// Which.
        id: JobId,
    },
    /// Run a job no further for now; another may have its lane. Unknown ids are ignored.
    Pause {
        /// Which.
        id: JobId,
    },
    /// Go on with a job that was paused. Unknown ids are ignored.
    Resume {
        /// Which.
        id: JobId,
    },
    /// Are you there? Answered by `Pong` with the same number.
    Ping {
        /// The daemon's number for it.
        n: u64,
    },
    /// Take no new jobs, finish the running ones, then exit 0.
    Drain,
}

/// One job's share of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobUpdate {
    /// Which job.
    pub id: JobId,
    /// Tokens generated since the last update; the daemon keeps them for a continuation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Token>,
    /// Text that is ready for the client: whole characters, nothing a stop string may still take.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// One entry a token whose text is in `text` or was given up, where the job asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<TokenLogprob>,
    /// The entries of those in `tokens` whose text is held back; each comes again in `logprobs`. The
    /// daemon keeps them for a continuation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<TokenLogprob>,
}

impl JobUpdate {
    /// About as many bytes as it takes to hold, and to write to a client.
    pub fn bytes(&self) -> u64 {
        let entry = |entry: &TokenLogprob| ENTRY * (1 + entry.top.len());
        let logprobs: usize = self.logprobs.iter().map(entry).sum();
        (self.text.len() + self.tokens.len() * size_of::<Token>() + logprobs) as u64
    }
}

/// Bytes of a token's log probability, and of each alternative.
const ENTRY: usize = 64;

/// A model is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// What it can do.
    pub record: Record,
    /// How it is run.
    pub engine: Engine,
    /// Runtime build and device in words, for the log: `llama.cpp b11284, cpu (AVX2), 8 threads`.
    pub description: String,
    /// Vocabulary size; token ids lie below it.
    pub vocab: u32,
    /// Whether the model has a chat template.
    pub chat: bool,
    /// What this system's kernel can't keep the worker from although its sandbox should, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfined: Vec<String>,
}

/// What the worker is doing, for `/metrics` and the log. What is counted, is counted since the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Jobs without a lane.
    pub waiting: u32,
    /// Jobs with a lane.
    pub running: u32,
    /// Jobs that are paused as their clients take nothing, with a lane or without.
    pub paused: u32,
    /// Cells that jobs with a lane hold.
    pub held: u32,
    /// Cells in use, kept prefixes included.
    pub cells: u32,
    /// Steps done.
    pub steps: u64,
    /// Jobs without a lane by class, as in [`Class::ALL`](crate::sched::Class::ALL).
    pub queued: [u32; 3],
    /// Times that a job gave its lane to a more urgent one.
    pub preempted: u64,
    /// Prompt tokens that were not run because their state was on the device, in host memory or on
    /// disk.
    pub reused: [u64; 3],
    /// Prompt tokens that were run: for the first time, again as their state was gone, and for nothing
    /// as their pass was given up.
    pub prefilled: [u64; 3],
}

/// Worker to daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToDaemon {
    /// First frame.
    Hello {
        /// The worker's [`PROTOCOL`](super::PROTOCOL).
        protocol: u32,
        /// Runtime id, canonical.
        runtime: String,
        /// The worker's own version.
        version: String,
    },
    /// Loading goes on.
    Progress {
        /// Share done, in thousandths.
        permille: u32,
    },
    /// The model is loaded; jobs may come.
    Loaded(Loaded),
    /// The model can't be loaded; the worker exits after this.
    LoadFailed(Refusal),
    /// The job was understood and waits for a lane.
    Accepted {
        /// Which.
        id: JobId,
        /// Its prompt tokens.
        prompt_tokens: u32,
    },
    /// What one step brought; one entry a job that has something to say.
    Updates {
        /// In step order.
        jobs: Vec<JobUpdate>,
    },
    /// A job ended; its last text was in an update before.
    Finished {
        /// Which.
        id: JobId,
        /// Why.
        finish: Finish,
        /// What it used.
        usage: Usage,
    },
    /// A job was refused or failed; others go on. The code tells which HTTP status it is.
    Failed {
        /// Which.
        id: JobId,
        /// Why.
        refusal: Refusal,
    },
    /// Answer to `Ping`.
    Pong {
        /// The ping's number.
        n: u64,
        /// What the worker is doing.
        stats: Stats,
    },
    /// Jobs got lanes or lost them, came or went.
    Stats(Stats),
    /// The engine cannot go on; the worker exits after this.
    Fatal(Refusal),
}
