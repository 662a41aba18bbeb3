//! How many prompt tokens go into a pass, learned from how long passes took.
//!
//! A pass is taken to cost a base and so much a token; both are fitted (least squares) to the last
//! passes, the older the less they count. Integers only: the same passes give the same budget.

use super::Config;
use crate::time::Duration;

/// Prompt tokens beside decode rows at least, so that prompts get on whatever the fit says.
const FLOOR: i128 = 8;
/// Prompt tokens beside decode rows before there is a fit, and at least in every fourth pass: passes
/// that are all alike would never show that the fit is wrong.
const PROBE: i128 = 32;
/// Prompt tokens beside decode rows that need no earlier pass as large.
const TRIED: i128 = 128;
/// A pass counts as this long at most; what takes longer was not the pass.
const CEILING: u64 = 60_000_000_000;
/// The weight of the latest pass; each pass takes a sixteenth of all weight away.
const WEIGHT: i128 = 1 << 20;
/// Standard deviation of the tokens a pass below which passes are too alike to tell base and token
/// apart: the last fit stands.
const SPREAD: i128 = 2;

/// Learns what passes cost and says what fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    gap: i128,
    /// Longest pass wanted while nothing decodes.
    pass: i128,
    /// Prompt tokens of a pass where nothing is known.
    first: i128,
    /// Weighted sums over the last passes: 1, tokens, nanoseconds, tokens², tokens × nanoseconds.
    n: i128,
    x: i128,
    y: i128,
    xx: i128,
    xy: i128,
    /// Nanoseconds a token by the last fit.
    slope: Option<i128>,
    /// The largest of the last passes. No fit is trusted beyond twice that.
    reach: i128,
    passes: u64,
}

impl Budget {
    pub(super) fn new(config: &Config) -> Self {
        let nanos = |time: Duration| i128::from(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let first = i128::from(config.engine.micro_batch.min(config.engine.step_tokens));
        let (gap, pass) = (nanos(config.gap), nanos(config.pass));
        Self { gap, pass, first, n: 0, x: 0, y: 0, xx: 0, xy: 0, slope: None, reach: 0, passes: 0 }
    }

    /// A pass of this many tokens took `elapsed`.
    pub(super) fn learn(&mut self, elapsed: Duration, tokens: u32) {
        let x = i128::from(tokens);
        let y = i128::from(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).min(CEILING));
        self.passes += 1;
        self.reach = x.max(self.reach - self.reach / 8);
        let sums = [&mut self.n, &mut self.x, &mut self.y, &mut self.xx, &mut self.xy];
        for (sum, new) in sums.into_iter().zip([1, x, y, x * x, x * y]) {
            *sum += new * WEIGHT - *sum / 16;
        }
        let spread = self.n * self.xx - self.x * self.x;
        let enough = SPREAD * SPREAD * self.n * self.n;
        // Tokens must also differ by a quarter of their mean, or noise decides.
        if spread >= enough && spread >= self.x * self.x / 16 {
            self.slope = Some((self.n * self.xy - self.x * self.y) / spread);
        }
    }

    /// What a pass costs, and a token more, in nanoseconds; `None` before passes differed.
    fn fit(&self) -> Option<(i128, i128)> {
        // All of a pass for its tokens is the most that a token can cost.
        let most = (self.y / self.x.max(1)).max(1);
        let token = self.slope?.clamp((most / 256).max(1), most);
        Some(((self.y - token * self.x).max(0) / self.n.max(1), token))
    }

    /// Nanoseconds a token costs by the last fit.
    pub(super) fn token(&self) -> Option<u64> {
        self.fit().and_then(|(_, token)| u64::try_from(token).ok())
    }

    /// Nanoseconds a pass of so many tokens took longer than it is taken to cost.
    pub(super) fn beyond(&self, elapsed: Duration, tokens: u32) -> Option<u64> {
        let (base, token) = self.fit()?;
        let plain = base + token * i128::from(tokens);
        u64::try_from((i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX) - plain).max(0)).ok()
    }

    /// Prompt tokens that fit beside (or, where passes do not mix, between) this many decode rows:
    /// until the pass takes as long as `gap`, or twice what it takes without them.
    pub(super) fn prompt_tokens(&self, decoding: usize) -> usize {
        let tokens = self.fit().map_or(PROBE, |(base, token)| {
            let plain = base + token * decoding as i128;
            (self.gap - plain).max(plain) / token
        });
        let least = if self.passes.is_multiple_of(4) { PROBE } else { FLOOR };
        usize::try_from(tokens.clamp(least, TRIED.max(self.reach * 2))).unwrap_or(usize::MAX)
    }

    /// Prompt tokens of a pass while nothing decodes: until it takes as long as `pass`, or twice what
    /// it takes without them.
    pub(super) fn pass_tokens(&self) -> usize {
        let tokens = self.estimate().map_or(self.first, |(base, token)| (self.pass - base).max(base) / token);
        usize::try_from(tokens.clamp(PROBE, self.first.max(TRIED).max(self.reach * 4))).unwrap_or(usize::MAX)
    }

    /// How many tokens a pass had run after so long.
    pub(super) fn tokens_in(&self, elapsed: Duration) -> Option<u64> {
        let (base, token) = self.estimate()?;
        let run = (i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX) - base) / token;
        u64::try_from(run.max(0)).ok()
    }

    /// What a pass costs, and a token more; before passes differed all is taken to be the tokens'.
    fn estimate(&self) -> Option<(i128, i128)> {
        self.fit().or_else(|| (self.passes > 0).then(|| (0, (self.y / self.x.max(1)).max(1))))
    }
}
