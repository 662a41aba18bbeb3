//! The generic executor's primitives over a llama.cpp context.

use crate::bridge::Bridge;
use crate::ffi::{Context, Decoded, Row};
use superfluid_core::Refusal;
use superfluid_core::sched::{Cut, Engine, SeqId, SeqOp};
use superfluid_worker_kit::{Batch, Pick, Picked, Primitives, StepError};

/// A context that keeps the promises of [`Primitives`].
pub struct LlamaPrimitives {
    context: Context,
    engine: Engine,
    /// Tokens each sequence holds.
    held: Vec<u32>,
    /// What the last pass's rows wanted.
    picks: Vec<Pick>,
    /// Where each sequence has a buffer of its own: sequences fed along to close gaps.
    bridge: Option<Bridge>,
}

impl LlamaPrimitives {
    /// `engine` describes what `context` was made as.
    pub fn new(context: Context, engine: Engine) -> Self {
        let seqs = context.seqs() as usize;
        let bridge = (engine.cut == Cut::Anywhere).then(|| Bridge::new(engine.seq_tokens));
        Self { context, engine, held: vec![0; seqs], picks: Vec::new(), bridge }
    }

    /// What a pass that was given up fed: llama.cpp keeps the micro-batches before the one it was in.
    /// Of a row that wants something the last token is taken back, as what follows it is gone.
    fn fed(&mut self, batch: Batch<'_>) -> Result<Vec<u32>, StepError> {
        let mut fed = Vec::with_capacity(batch.rows.len());
        for row in batch.rows {
            let len = u32::try_from(row.tokens.len()).unwrap_or(u32::MAX);
            let most = len - u32::from(row.pick != Pick::Nothing);
            let holds = self.context.held(row.seq);
            let ran = holds.saturating_sub(row.start).min(most);
            let end = row.start + ran;
            if holds < row.start || holds > end && !self.context.truncate(row.seq, end) {
                return Err(state_lost(row.seq, end));
            }
            self.held[row.seq as usize] = end;
            fed.push(ran);
        }
        Ok(fed)
    }
}

fn state_lost(seq: u32, len: u32) -> StepError {
    fatal("state_lost", format!("sequence {seq} can't be put back to {len} tokens"))
}

fn fatal(code: &str, message: String) -> StepError {
    StepError::Fatal(Refusal::new(code, message))
}

impl Primitives for LlamaPrimitives {
    fn engine(&self) -> Engine {
        self.engine
    }

    fn apply(&mut self, op: SeqOp) -> Result<(), Refusal> {
        match op {
            SeqOp::Clear { seq } => {
                self.context.clear(seq.0);
                self.held[seq.0 as usize] = 0;
            }
            SeqOp::Truncate { seq, len } => {
                if !self.context.truncate(seq.0, len) {
                    return Err(Refusal::new(
                        "state_not_cut",
                        format!("llama.cpp can't cut sequence {} after {len} tokens", seq.0),
                    ));
                }
                self.held[seq.0 as usize] = len;
            }
            SeqOp::Copy { from, to, len } => {
                self.context.copy(from.0, to.0);
                self.held[to.0 as usize] = self.held[from.0 as usize];
                if len < self.held[to.0 as usize] {
                    return self.apply(SeqOp::Truncate { seq: to, len });
                }
            }
            SeqOp::Export { .. } | SeqOp::Import { .. } | SeqOp::Drop { .. } => {
                return Err(Refusal::new("internal_error", format!("{op:?} is no change to a sequence")));
            }
        }
        Ok(())
    }

    fn export(&mut self, seq: SeqId) -> Result<Vec<u8>, Refusal> {
        self.context.export(seq.0)
    }

    fn import(&mut self, seq: SeqId, len: u32, state: &[u8]) -> Result<(), Refusal> {
        self.context.import(seq.0, len, state)?;
        self.held[seq.0 as usize] = len;
        Ok(())
    }

    fn step(&mut self, batch: Batch<'_>, abort: &dyn Fn() -> bool) -> Result<(), StepError> {
        if abort() {
            return Err(StepError::Aborted { fed: vec![0; batch.rows.len()] });
        }
        self.picks.clear();
        self.picks.extend(batch.rows.iter().map(|row| row.pick));
        let mut rows: Vec<Row<'_>> = batch
            .rows
            .iter()
            .map(|row| Row {
                seq: row.seq,
                start: row.start,
                tokens: row.tokens,
                output: row.pick != Pick::Nothing,
            })
            .collect();
        let bridged: &[u32] = self.bridge.as_mut().map_or(&[], |bridge| bridge.close(&rows, &self.held));
        rows.extend(bridged.iter().map(|seq| Row {
            seq: *seq,
            start: self.held[*seq as usize],
            tokens: &[0],
            output: false,
        }));
        // A pass that is given up half-way has moved some sequences on, one of them perhaps further
        // than can be told. Where they can be cut that is mended; where not, the pass runs to its end.
        let cuts = self.engine.cut == Cut::Anywhere;
        let decoded = self.context.decode(&rows, cuts.then_some(abort));
        for seq in bridged {
            if !self.context.truncate(*seq, self.held[*seq as usize]) {
                return Err(state_lost(*seq, self.held[*seq as usize]));
            }
        }
        match decoded {
            Decoded::Done => {
                for row in batch.rows {
                    self.held[row.seq as usize] =
                        row.start.saturating_add(u32::try_from(row.tokens.len()).unwrap_or(u32::MAX));
                }
                Ok(())
            }
            Decoded::NoRoom => Err(StepError::Capacity),
            Decoded::Aborted => Err(StepError::Aborted { fed: self.fed(batch)? }),
            Decoded::Invalid(why) => Err(fatal("bad_pass", why)),
            Decoded::Failed(why) => Err(fatal("device_failed", why)),
        }
    }

    fn picked(&mut self, row: usize) -> Picked<'_> {
        let picked = match self.picks.get(row) {
            Some(Pick::Argmax) => self.context.argmax(row).map(Picked::Token),
            Some(Pick::Logits) => self.context.logits(row).map(Picked::Logits),
            Some(Pick::Nothing) | None => None,
        };
        picked.unwrap_or(Picked::Nothing)
    }

    fn cells_used(&self) -> u32 {
        self.held.iter().sum()
    }
}
