//! The few things a primitive runtime does on its device; the generic executor does the rest.

use superfluid_core::Refusal;
use superfluid_core::sched::{Engine, SeqId, SeqOp, Token};

/// How the token that follows an output row is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Nothing is wanted after these rows.
    Nothing,
    /// The runtime's own argmax.
    Argmax,
    /// The row's logits, for sampling on the host.
    Logits,
}

/// Consecutive tokens of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct BatchRow<'a> {
    /// The sequence; holds exactly `start` tokens.
    pub seq: u32,
    /// Position of the first token.
    pub start: u32,
    /// At least one token.
    pub tokens: &'a [Token],
    /// What is wanted after the last of them.
    pub pick: Pick,
}

/// One packed pass. At most [`Engine::step_tokens`] tokens, at most one entry a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// In the order results are read.
    pub rows: &'a [BatchRow<'a>],
}

/// What a row brought.
#[derive(Debug)]
pub enum Picked<'a> {
    /// Nothing was wanted.
    Nothing,
    /// The runtime's argmax.
    Token(Token),
    /// One value a vocabulary entry; valid until the next call to the device.
    Logits(&'a [f32]),
}

/// Why a pass failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// No room for the rows; no row was fed and every sequence is as it was.
    #[error("no room in the KV cache")]
    Capacity,
    /// `abort` said so; what was computed before the boundary stays.
    #[error("given up on request")]
    Aborted {
        /// How many tokens of each row its sequence holds now beyond those before: the first so many,
        /// and not all of a row that wants something.
        fed: Vec<u32>,
    },
    /// The device cannot go on.
    #[error("{0}")]
    Fatal(Refusal),
}

/// One loaded model on its device. Called from one thread only.
pub trait Primitives {
    /// What it can do; the same answer always.
    fn engine(&self) -> Engine;

    /// Changes a sequence: a clear, a cut or a copy. Fails only where the device cannot go on.
    fn apply(&mut self, op: SeqOp) -> Result<(), Refusal>;

    /// All that a sequence holds, as bytes that [`import`](Self::import) takes. The sequence stays as
    /// it is. Asked only where [`Keeping::exports`](superfluid_core::sched::Keeping::exports).
    ///
    /// # Errors
    /// Why it did not work; the sequence is as it was.
    fn export(&mut self, seq: SeqId) -> Result<Vec<u8>, Refusal> {
        Err(Refusal::new("no_export", format!("sequence {} cannot be exported", seq.0)))
    }

    /// Makes an empty sequence hold what was exported when it held `len` tokens.
    ///
    /// # Errors
    /// Why it did not work; the sequence is empty.
    fn import(&mut self, seq: SeqId, len: u32, state: &[u8]) -> Result<(), Refusal> {
        let bytes = state.len();
        Err(Refusal::new(
            "no_import",
            format!("sequence {} cannot take {len} tokens in {bytes} bytes", seq.0),
        ))
    }

    /// Runs one pass. A failed pass leaves every sequence as it was, or, where it was given up, with
    /// what it says was fed; where a runtime cannot promise that, the error is [`StepError::Fatal`].
    /// `abort` is asked at boundaries where a pass can be given up, at least at each
    /// [`Engine::micro_batch`] tokens or not at all.
    fn step(&mut self, batch: Batch<'_>, abort: &dyn Fn() -> bool) -> Result<(), StepError>;

    /// What the last successful pass brought for its entry `row`.
    fn picked(&mut self, row: usize) -> Picked<'_>;

    /// Tokens held by all sequences together, for statistics.
    fn cells_used(&self) -> u32;
}
