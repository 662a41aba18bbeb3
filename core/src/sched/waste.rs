//! How much work passes that are given up may throw away.
//!
//! Giving a pass up loses what was computed since its last boundary. However often urgent jobs come,
//! that stays a small share of what is run: what a pass may lose must have been earned by passes that
//! ran before it.

use super::Engine;

/// Of so many tokens that are run, one may be thrown away.
const SHARE: u64 = 20;

/// Counts what is run and what is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waste {
    /// What may be lost now, in parts of a token: [`SHARE`] make one.
    slack: u64,
    /// No more is saved up than one micro-batch is.
    most: u64,
    lost: u64,
}

impl Waste {
    pub(super) fn new(engine: &Engine) -> Self {
        let most = u64::from(engine.micro_batch.min(engine.step_tokens)) * SHARE;
        Self { slack: most, most, lost: 0 }
    }

    /// Whether so many tokens may be lost now.
    pub(super) fn allows(&self, tokens: u64) -> bool {
        tokens.saturating_mul(SHARE) <= self.slack
    }

    /// So many tokens were run to stay.
    pub(super) fn ran(&mut self, tokens: u64) {
        self.slack = self.slack.saturating_add(tokens).min(self.most);
    }

    /// So many tokens were run and lost.
    pub(super) fn lose(&mut self, tokens: u64) {
        self.lost += tokens;
        self.slack = self.slack.saturating_sub(tokens.saturating_mul(SHARE));
    }

    /// Tokens lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}
