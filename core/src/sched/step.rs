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

/// Names a state in host memory; grows by one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateId(pub u32);

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

/// What it costs to keep states, and where they can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Keeping {
    /// Tokens that kept sequences may hold together beside running ones, where idle cells cost every
    /// pass; `None` where they cost nothing.
    pub rest_tokens: Option<u32>,
    /// Bytes that all states in host memory may take together; 0 where states cannot be exported.
    pub host_bytes: u64,
    /// Bytes of a state in host memory, its tokens apart.
    pub state_bytes: u64,
    /// Bytes of a state in host memory for each of its tokens.
    pub token_bytes: u64,
    /// A copy that duplicates is taken to cost what running this many tokens costs, until copies
    /// were measured.
    pub copy_tokens: u32,
}

impl Default for Keeping {
    /// Nothing leaves the device, and idle cells cost nothing; a copy is worth 128 tokens.
    fn default() -> Self {
        Self { rest_tokens: None, host_bytes: 0, state_bytes: 0, token_bytes: 0, copy_tokens: 128 }
    }
}

impl Keeping {
    /// Bytes a state of this many tokens takes in host memory.
    pub fn state(&self, tokens: u32) -> u64 {
        self.state_bytes.saturating_add(self.token_bytes.saturating_mul(u64::from(tokens)))
    }

    /// Whether states can be exported at all.
    pub fn exports(&self) -> bool {
        self.host_bytes > 0
    }
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
    /// Tokens that are computed between two boundaries at which a pass can be given up. What was
    /// computed before the last boundary stays.
    #[serde(default = "whole_pass")]
    pub micro_batch: u32,
    /// What it costs to keep states, and where.
    #[serde(default)]
    pub keeping: Keeping,
}

/// A pass is one piece.
const fn whole_pass() -> u32 {
    u32::MAX
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
    /// Put all that `seq` holds into host memory as `state`; the sequence stays as it is.
    Export {
        /// Source.
        seq: SeqId,
        /// What the state is called from now on; never used before.
        state: StateId,
        /// Tokens it holds.
        len: u32,
    },
    /// Make empty `seq` hold all that `state` holds; the state stays as it is.
    Import {
        /// Source.
        state: StateId,
        /// Target; empty before.
        seq: SeqId,
        /// Tokens it holds.
        len: u32,
    },
    /// Forget a state in host memory.
    Drop {
        /// Which.
        state: StateId,
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
    /// cancelled. The `ops` were done; what was computed before the boundary stays.
    Yielded {
        /// How many tokens of each entry of `Step::rows` were fed, in the same order: the first so
        /// many, and not all of one that wants a token, which did not come.
        fed: Vec<u32>,
    },
    /// These states could not be exported or imported, and are no more. All other `ops` were done, no
    /// row was fed; a sequence that should have been imported is empty or holds what must be cleared.
    Lost {
        /// Which.
        states: Vec<StateId>,
    },
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
