//! The decision (`Step`) and its outcome (`StepOutcome`), and what the engine behind them can do.

use super::{JobId, Token};
use crate::refusal::Refusal;
use crate::time::Duration;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Names a sequence on the device: 0 up to, not including, [`Engine::seqs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeqId(pub u32);

/// Names a step; grows by one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u64);

/// Where a sequence's state can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// After any token (plain attention).
    Anywhere,
    /// Not at all: only the whole state can be used (recurrent, hybrid, sliding window).
    HeadOnly,
}

/// What copying a sequence costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copying {
    /// The runtime cannot copy sequences.
    Never,
    /// The copy shares cells with its source.
    Shares,
    /// The copy takes as many cells again.
    Duplicates,
}

/// What the loaded model's runtime can do; constant while the model is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    /// Jobs that run at once, at most.
    pub lanes: u32,
    /// Sequences the device holds; at least `lanes`. Those above it can keep finished prefixes.
    pub seqs: u32,
    /// Tokens one sequence can hold.
    pub seq_tokens: u32,
    /// Tokens all sequences together can hold (cells).
    pub pool_tokens: u32,
    /// Tokens one pass can carry; at least `lanes`.
    pub step_tokens: u32,
    /// Where a sequence can be cut.
    pub cut: Cut,
    /// What copying a sequence costs.
    pub copying: Copying,
    /// Whether one pass may hold decode rows and prompt chunks without loss. Where not, a step
    /// holds either.
    pub mixes: bool,
    /// Whether a pass computes only sequences of consecutive ids together, so that an idle sequence
    /// between those of a pass costs it about a row.
    #[serde(default)]
    pub neighbours: bool,
}

/// A change to sequences, performed in order before the step's pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum SeqOp {
    /// Forget everything the sequence holds.
    Clear {
        /// Which.
        seq: SeqId,
    },
    /// Keep the first `len` tokens. Only where [`Engine::cut`] is [`Cut::Anywhere`].
    Truncate {
        /// Which.
        seq: SeqId,
        /// Tokens kept; fewer than it holds.
        len: u32,
    },
    /// Make empty `to` hold `from`'s first `len` tokens. Only where [`Engine::copying`] allows, and
    /// `len` is all of `from` where the engine cuts at the head only.
    Copy {
        /// Source; not changed.
        from: SeqId,
        /// Target; empty before.
        to: SeqId,
        /// Tokens copied.
        len: u32,
    },
}

/// What a run of rows must bring back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Nothing: a prompt chunk that is not the last.
    Nothing,
    /// The token that follows the last row.
    Token,
}

/// Consecutive tokens of one sequence, fed in one pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// For whom.
    pub job: JobId,
    /// Where.
    pub seq: SeqId,
    /// Position of the first token; the sequence holds exactly this many before.
    pub start: u32,
    /// The tokens; at least one.
    pub tokens: Vec<Token>,
    /// What must come back.
    pub want: Want,
}

/// One packed pass: sequence changes, then rows. Decode rows come first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Names it; the outcome carries the same.
    pub id: StepId,
    /// Done in order before the pass.
    pub ops: Vec<SeqOp>,
    /// The pass; may be empty when there are only `ops`. At most one entry a job.
    pub rows: Vec<Rows>,
}

/// Why a job ends with a token; only the worker, which sees text, can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The token is one of the model's end-of-generation tokens.
    EndOfText,
    /// Its text completes a stop string.
    StopString,
}

/// What one entry of `Step::rows` brought, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum RowResult {
    /// The rows were fed; nothing was wanted.
    Fed,
    /// The rows were fed and this token follows.
    Token {
        /// The token that follows the last row.
        token: Token,
        /// Whether the job ends with it.
        end: Option<End>,
    },
    /// This job's rows failed; its sequence holds nothing that can be used.
    Fault {
        /// Why.
        refusal: Refusal,
    },
}

/// Why a whole step failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum StepFault {
    /// No room for the rows. The `ops` were done, no row was fed.
    Capacity,
    /// The pass was given up at a boundary because something more urgent came or a job was
    /// cancelled. The `ops` were done, no row was fed.
    Yielded,
    /// The engine cannot go on; the worker ends.
    Fatal {
        /// Why.
        refusal: Refusal,
    },
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// The step it answers.
    pub id: StepId,
    /// How long the pass took, sampling included.
    pub elapsed: Duration,
    /// One result an entry of `Step::rows`, or why there are none.
    pub result: Result<Vec<RowResult>, StepFault>,
}
