//! How many prompt tokens go beside decode rows, learned from how long passes took.

use crate::time::Duration;

/// Prompt tokens beside decode rows before anything was measured.
const UNMEASURED: u64 = 128;
/// Prompt tokens beside decode rows at least, so that prompts get on whatever the measurement says.
const FLOOR: u64 = 8;
/// A pass counts as this long at most; what takes longer was not the pass.
const CEILING: u64 = 60_000_000_000;

/// Nanoseconds a unit over the last passes: both sums lose an eighth a pass.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    nanos: u64,
    /// In 256ths, so that the decay reaches small numbers.
    units: u64,
}

impl Rate {
    fn learn(&mut self, nanos: u64, units: u64) {
        self.nanos = self.nanos - self.nanos / 8 + nanos;
        self.units = self.units - self.units / 8 + units * 256;
    }

    fn per_unit(self) -> Option<u64> {
        (self.nanos * 256).checked_div(self.units)
    }
}

/// Learns what passes cost and says what fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    gap: u64,
    /// A pass of decode rows alone.
    decode: Rate,
    /// A prompt token, where there is one more pass or not.
    prompt: Rate,
}

impl Budget {
    pub(super) fn new(gap: Duration) -> Self {
        let gap = u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
        Self { gap, decode: Rate::default(), prompt: Rate::default() }
    }

    /// A pass with this many decode rows and prompt tokens took `elapsed`.
    pub(super) fn learn(&mut self, elapsed: Duration, decoding: u32, prompt: u32) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).min(CEILING);
        if prompt == 0 {
            self.decode.learn(nanos, 1);
            return;
        }
        let decode = if decoding > 0 { self.decode.per_unit().unwrap_or(0) } else { 0 };
        self.prompt.learn(nanos.saturating_sub(decode), u64::from(prompt));
    }

    /// Prompt tokens that fit beside (or, where passes do not mix, between) decode rows.
    pub(super) fn prompt_tokens(&self) -> u32 {
        let tokens = self.prompt.per_unit().map_or(UNMEASURED, |token| {
            let decode = self.decode.per_unit().unwrap_or(0);
            self.gap.saturating_sub(decode).max(decode) / token.max(1)
        });
        u32::try_from(tokens.max(FLOOR)).unwrap_or(u32::MAX)
    }
}
