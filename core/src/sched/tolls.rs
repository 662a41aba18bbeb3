//! What copies, exports and imports cost, learned from passes that had them.
//!
//! Such a pass takes longer than the budget's fit says it would without; the rest is theirs. So it
//! does not matter whether the runtime does them at once or with the pass. Integers only.

use super::{Config, Copying, SeqOp};

/// A token that is imported is taken to cost this share of one that is run, until it was measured.
const IMPORT_SHARE: u64 = 16;
/// No copy is taken to cost more tokens than this, whatever was measured: it would never be tried again.
const MOST: u64 = 2048;

/// The changes to sequences in a step that take time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    copies: u64,
    /// Tokens, to host memory or from there: mostly both at once, as one state gives way to another.
    tokens: u64,
}

impl Moved {
    pub(super) fn of(ops: &[SeqOp]) -> Self {
        let mut moved = Self::default();
        for op in ops {
            match op {
                SeqOp::Copy { .. } => moved.copies += 1,
                SeqOp::Import { len, .. } | SeqOp::Export { len, .. } => moved.tokens += u64::from(*len),
                SeqOp::Clear { .. } | SeqOp::Truncate { .. } | SeqOp::Drop { .. } => {}
            }
        }
        moved
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Nanoseconds, averaged over the last eight or so of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tolls {
    copy: Option<u64>,
    /// For each token, to host memory or from there.
    token: Option<u64>,
    /// What running a token costs.
    run: Option<u64>,
}

impl Tolls {
    /// What running a token costs now.
    pub(super) fn run(&mut self, token: Option<u64>) {
        self.run = token.filter(|&token| token > 0).or(self.run);
    }

    /// A pass took so many nanoseconds more than without what was moved. Where there were copies too,
    /// nobody knows whose they are.
    pub(super) fn learn(&mut self, moved: Moved, nanos: u64) {
        match moved {
            Moved { copies: 1.., tokens: 0 } => blend(&mut self.copy, nanos / moved.copies),
            Moved { copies: 0, tokens: 1.. } => blend(&mut self.token, nanos / moved.tokens),
            _ => {}
        }
    }

    /// Tokens a copy must save more than; `None` where there are none.
    pub(super) fn copy(&self, config: &Config) -> Option<u32> {
        match config.engine.copying {
            Copying::Never => None,
            Copying::Shares => Some(0),
            Copying::Duplicates => Some(match (self.copy, self.run) {
                (Some(copy), Some(run)) => (copy / run).min(MOST) as u32,
                _ => config.engine.keeping.copy_tokens,
            }),
        }
    }

    /// Tokens an import of so many must save more than.
    pub(super) fn import(&self, tokens: u32) -> u32 {
        let tokens = u64::from(tokens);
        let cost = match (self.token, self.run) {
            (Some(token), Some(run)) => tokens.saturating_mul(token) / run,
            _ => tokens / IMPORT_SHARE,
        };
        u32::try_from(cost).unwrap_or(u32::MAX)
    }
}

fn blend(average: &mut Option<u64>, new: u64) {
    *average = Some(average.map_or(new, |old| old - old / 8 + new / 8));
}
