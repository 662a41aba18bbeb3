//! What the scheduler is told once, and the limits that follow from it.

use super::{Copying, Engine, Job, refuse};
use crate::refusal::Refusal;
use crate::time::Duration;
use serde::{Deserialize, Serialize};

/// What the scheduler is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// What the runtime can do. Raised where it contradicts itself: at least one lane, a sequence
    /// and a token a step for each.
    pub engine: Engine,
    /// Jobs of one class that may wait; one more is refused as `overloaded`.
    pub queue_per_class: usize,
    /// Lanes a class may have at once, by class as in [`Class::ALL`](super::Class::ALL); 0 counts as 1.
    pub class_lanes: [u32; 3],
    /// A job that has waited this long counts as one class higher against those that come now.
    pub age_after: Duration,
    /// Longest pass wanted while lanes decode. Where decoding alone takes more than half of it,
    /// prompts get as much time as decoding does.
    pub gap: Duration,
    /// Longest pass wanted while no lane decodes: whoever comes waits for it, or it is given up and
    /// what was computed since the last boundary is lost.
    pub pass: Duration,
    /// A job waits for a running one that has yet to run at least this many first tokens of both,
    /// rather than run them too. Only where the runtime copies sequences.
    pub share_from: u32,
    /// A state of fewer tokens is run again rather than moved to host memory.
    pub save_from: u32,
    /// Where states cannot be cut, one is kept where each prompt of this many tokens or more ends.
    pub keep_from: u32,
}

impl Config {
    /// The defaults around an engine: 1024 waiting jobs a class, as many lanes for
    /// each as there are, aging each 10 s, a 50 ms gap, passes
    /// of half a second, heads of 1,000 tokens waited for, states of 32 tokens saved, prompts of 128 tokens kept.
    pub const fn new(engine: Engine) -> Self {
        Self {
            engine,
            queue_per_class: 1024,
            class_lanes: [u32::MAX; 3],
            age_after: Duration::from_secs(10),
            gap: Duration::from_millis(50),
            pass: Duration::from_millis(500),
            share_from: 1000,
            save_from: 32,
            keep_from: 128,
        }
    }

    /// Whether a job can run at all, as `submit` judges it; for whoever wants to know before.
    ///
    /// # Errors
    ///
    /// `invalid_prompt`, `invalid_max_tokens`, `context_length_exceeded`.
    pub fn admits(&self, job: &Job) -> Result<(), Refusal> {
        refuse::check(job, &self.sound())
    }

    pub(super) fn sound(mut self) -> Self {
        let engine = &mut self.engine;
        engine.lanes = engine.lanes.max(1);
        engine.seqs = engine.seqs.max(engine.lanes);
        engine.step_tokens = engine.step_tokens.max(engine.lanes);
        engine.micro_batch = engine.micro_batch.clamp(1, engine.step_tokens);
        self.share_from = self.share_from.max(1);
        self.save_from = self.save_from.max(1);
        self.keep_from = self.keep_from.max(2);
        self.class_lanes = self.class_lanes.map(|lanes| lanes.max(1));
        self
    }

    /// Tokens one job can have, prompt and completion together. The last is never fed.
    pub(super) fn window(&self) -> u32 {
        self.engine.seq_tokens.min(self.engine.pool_tokens)
    }

    /// Whether sequences can be copied.
    pub(super) fn copies(&self) -> bool {
        self.engine.copying != Copying::Never
    }

    /// `age_after` in nanoseconds.
    pub(super) fn age(&self) -> u64 {
        u64::try_from(self.age_after.as_nanos()).unwrap_or(u64::MAX)
    }
}
