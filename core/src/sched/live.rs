//! A job while it lives in the scheduler, and the order among jobs.

use super::{Class, Job, JobId, Token, Usage};
use crate::time::Instant;
use alloc::vec::Vec;

/// Where a job stands among others: smaller goes first. It never changes while the job lives, so
/// whoever came `age_after` later a class higher stands behind.
pub(super) type Key = (u64, u64);

/// A job that waits or runs.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) id: JobId,
    pub(super) class: Class,
    /// Submission order; unique.
    pub(super) order: u64,
    pub(super) key: Key,
    /// Prompt, then what was generated.
    pub(super) tokens: Vec<Token>,
    /// Prompt tokens for the bill: `committed` ones excluded.
    prompt: u32,
    /// The job ends when it has this many tokens.
    limit: usize,
    /// Whether rows of it were ever planned.
    pub(super) started: bool,
    /// When it first got a lane.
    pub(super) began: Option<Instant>,
    /// When it began to wait.
    pub(super) since: Instant,
    /// Tokens its sequence held when somebody more urgent last took its lane.
    pub(super) displaced: Option<usize>,
    /// Lowest position that a completed step ran.
    ran_from: Option<u32>,
    /// The position after the highest that one ran.
    ran_to: u32,
}

impl Live {
    pub(super) fn new(job: Job, order: u64, window: u32, age: u64, now: Instant) -> Self {
        let prompt = u32::try_from(job.prompt.len()).unwrap_or(u32::MAX).saturating_sub(job.committed);
        let due = now.as_nanos().saturating_add((job.class as u64).saturating_mul(age));
        Self {
            id: job.id,
            class: job.class,
            order,
            key: (due, order),
            tokens: job.prompt,
            prompt,
            limit: prompt.saturating_add(job.max_tokens).min(window) as usize,
            started: false,
            began: None,
            since: now,
            displaced: None,
            ran_from: None,
            ran_to: 0,
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let total = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        Usage {
            prompt: self.prompt,
            cached: self.cached(self.ran_from.unwrap_or(0)),
            completion: total - self.prompt,
        }
    }

    /// Tokens of its prompt, `committed` ones excluded.
    pub(super) fn prompt_len(&self) -> usize {
        self.prompt as usize
    }

    /// Whether nothing more may be generated.
    pub(super) fn is_full(&self) -> bool {
        self.tokens.len() >= self.limit
    }

    /// Tokens it may still get.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.tokens.len())
    }

    /// Prompt tokens not run by a job that runs from `position` on.
    pub(super) fn cached(&self, position: u32) -> u32 {
        position.min(self.prompt)
    }

    /// A completed step ran so many of its tokens from `position` on. Returns how many of them are its
    /// prompt's: run for the first time, and run before.
    pub(super) fn ran(&mut self, position: u32, tokens: u32) -> [u64; 2] {
        self.ran_from = Some(self.ran_from.map_or(position, |from| from.min(position)));
        let end = position + tokens;
        let prompt = end.min(self.prompt).saturating_sub(position);
        let again = end.min(self.prompt).min(self.ran_to).saturating_sub(position);
        self.ran_to = self.ran_to.max(end);
        [u64::from(prompt - again), u64::from(again)]
    }
}
