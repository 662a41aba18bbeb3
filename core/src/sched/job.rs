//! What is asked of the scheduler and what becomes of it.

use crate::refusal::Refusal;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A token id of the loaded model's vocabulary.
pub type Token = u32;

/// Names a job; chosen by whoever submits it, unique while the job lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

/// How urgent a job is. One FIFO a class, the higher class first; waiting jobs age upwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A person is waiting for the next word.
    Interactive,
    /// A program is waiting (the default).
    #[default]
    Agent,
    /// Nobody is waiting.
    Background,
}

impl Class {
    /// Every class, most urgent first.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Agent, Self::Background];

    /// Its name, as headers, flags and metrics have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Agent => "agent",
            Self::Background => "background",
        }
    }

    /// The class of a name; case counts.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// One generation: a prompt, limits and a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The caller's name for it.
    pub id: JobId,
    /// How urgent it is.
    pub class: Class,
    /// The prompt; at least one token. A continued job's committed tokens are its tail.
    pub prompt: Vec<Token>,
    /// How many tokens at the end of `prompt` an earlier worker generated for this job. They count
    /// as completion tokens, not as prompt tokens.
    pub committed: u32,
    /// Completion tokens at most, `committed` included; at least 1. A job that was continued with
    /// all of them committed ends at once.
    pub max_tokens: u32,
}

/// Tokens a job was charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, `committed` ones excluded.
    pub prompt: u32,
    /// Prompt tokens that were not run because their state was reused; at most `prompt`.
    pub cached: u32,
    /// Tokens generated, `committed` ones included.
    pub completion: u32,
}

/// Why a job ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model ended its text, or a stop string was met.
    Stop,
    /// `max_tokens` or the context window was reached.
    Length,
    /// Somebody cancelled it.
    Cancelled,
}

/// What became of a job, in the order it happened. Every job ends in exactly one `Finished` or
/// `Failed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The job's first prompt chunk is in the next step. Told once.
    Started {
        /// Which job.
        job: JobId,
        /// Prompt tokens whose state is reused.
        cached: u32,
    },
    /// A token was generated.
    Token {
        /// Which job.
        job: JobId,
        /// The token.
        token: Token,
        /// Its position in the whole sequence, prompt included; counts from 0.
        position: u32,
    },
    /// The job ended. A token that ended it was reported by `Token` before.
    Finished {
        /// Which job.
        job: JobId,
        /// Why.
        finish: Finish,
        /// What it used.
        usage: Usage,
    },
    /// The job cannot be completed; others go on.
    Failed {
        /// Which job.
        job: JobId,
        /// Why.
        refusal: Refusal,
    },
}
