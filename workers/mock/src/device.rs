//! The mock's device: sequences are token lists, and what follows is a function of the whole list.

use crate::faults::{Faults, holds};
use crate::script::{At, Deed, Script};
use crate::vocabulary::{EOS, MockVocabulary};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use superfluid_core::Refusal;
use superfluid_core::sched::{Cut, Engine, SeqId, SeqOp, Token};
use superfluid_worker_kit::{Batch, Pick, Picked, Primitives, StepError, Vocabulary};

/// Between two looks at whether a pass should be given up.
const BOUNDARY: Duration = Duration::from_millis(2);

/// How far above every other the arithmetic's token is.
const AHEAD: f32 = 8.0;

/// One loaded mock.
pub struct MockPrimitives {
    script: Script,
    engine: Engine,
    vocabulary: Arc<MockVocabulary>,
    faults: Faults,
    sequences: Vec<Sequence>,
    /// What the last pass brought, one a row.
    results: Vec<Brought>,
    logits: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
struct Sequence {
    tokens: Vec<Token>,
    /// `hashes[n]`: of the first `n + 1` tokens.
    hashes: Vec<u64>,
    /// Their bytes, kept only for scripts that look at them.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Brought {
    pick: Pick,
    token: Token,
    hash: u64,
    broken: bool,
}

impl MockPrimitives {
    /// A device with empty sequences.
    pub fn new(script: Script, engine: Engine, vocabulary: Arc<MockVocabulary>, faults: Faults) -> Self {
        let sequences = vec![Sequence::default(); engine.seqs as usize];
        Self { script, engine, vocabulary, faults, sequences, results: Vec::new(), logits: Vec::new() }
    }

    fn sequence(&mut self, seq: u32) -> Result<&mut Sequence, Refusal> {
        let all = self.sequences.len();
        let message = format!("there is no sequence {seq}, there are {all}");
        self.sequences.get_mut(seq as usize).ok_or_else(|| misused(message))
    }

    /// Whether the script looks at what sequences hold.
    fn reads(&self) -> bool {
        !self.script.replies.is_empty() || self.script.faults.iter().any(|fault| !fault.prompt.is_empty())
    }

    /// Checks the pass as a whole; nothing has changed when it is refused.
    fn check(&self, batch: Batch<'_>) -> Result<(), StepError> {
        let fatal = |message: String| Err(StepError::Fatal(misused(message)));
        let size = self.vocabulary.size();
        let mut fed = 0;
        for (at, row) in batch.rows.iter().enumerate() {
            let Some(sequence) = self.sequences.get(row.seq as usize) else {
                return fatal(format!("there is no sequence {}", row.seq));
            };
            let holds = sequence.tokens.len();
            if row.start as usize != holds {
                return fatal(format!(
                    "rows for sequence {} start at position {}, but it holds {holds} tokens",
                    row.seq, row.start
                ));
            }
            if row.tokens.is_empty() || batch.rows[..at].iter().any(|other| other.seq == row.seq) {
                return fatal(format!("sequence {} has no tokens, or two entries", row.seq));
            }
            if let Some(token) = row.tokens.iter().find(|token| **token >= size) {
                return fatal(format!("token {token} is not one of {size}"));
            }
            if holds + row.tokens.len() > self.engine.seq_tokens as usize {
                return Err(StepError::Capacity);
            }
            fed += row.tokens.len();
        }
        if fed > self.engine.step_tokens as usize {
            return fatal(format!("a pass of {fed} tokens, at most {}", self.engine.step_tokens));
        }
        if self.cells_used() as usize + fed > self.engine.pool_tokens as usize {
            return Err(StepError::Capacity);
        }
        Ok(())
    }

    /// Takes as long as the script says; where it was given up, how many tokens were computed before
    /// the last boundary.
    fn take_time(&self, batch: Batch<'_>, abort: &dyn Fn() -> bool) -> Result<(), usize> {
        let prompt: usize = batch.rows.iter().map(|row| row.tokens.len()).filter(|fed| *fed > 1).sum();
        let decodes = batch.rows.iter().any(|row| row.tokens.len() == 1);
        let micros = self.script.prefill_us.saturating_mul(prompt as u64)
            + if decodes { self.script.decode_us } else { 0 };
        let began = Instant::now();
        let end = began + Duration::from_micros(micros);
        loop {
            if abort() {
                let ran = began.elapsed().as_micros() / u128::from(self.script.prefill_us.max(1));
                let whole = usize::try_from(ran).unwrap_or(usize::MAX) / self.engine.micro_batch as usize;
                return Err(whole.saturating_mul(self.engine.micro_batch as usize));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(BOUNDARY));
        }
    }

    /// Feeds the first `left` tokens of a pass that was given up, as far as nothing is wanted of them.
    fn keep(&mut self, batch: Batch<'_>, mut left: usize) -> Vec<u32> {
        // A model whose state can't be cut does not compute beyond what is kept.
        if self.engine.cut == Cut::HeadOnly {
            left = 0;
        }
        let reads = self.reads();
        let mut fed = Vec::with_capacity(batch.rows.len());
        for row in batch.rows {
            let most = row.tokens.len() - usize::from(row.pick != Pick::Nothing);
            let tokens = &row.tokens[..most.min(left)];
            left -= tokens.len();
            let vocabulary = reads.then_some(&*self.vocabulary);
            let sequence = &mut self.sequences[row.seq as usize];
            tokens.iter().for_each(|&token| sequence.feed(token, vocabulary));
            fed.push(u32::try_from(tokens.len()).unwrap_or(u32::MAX));
        }
        fed
    }

    /// What the script has go wrong with this pass.
    fn meet(&mut self, batch: Batch<'_>) -> Result<Vec<bool>, StepError> {
        let mut broken = vec![false; batch.rows.len()];
        if self.script.faults.is_empty() {
            return Ok(broken);
        }
        for (row, broken) in batch.rows.iter().zip(&mut broken) {
            let mut text = self.sequences[row.seq as usize].bytes.clone();
            text.extend(row.tokens.iter().flat_map(|token| self.vocabulary.piece(*token)));
            let mut due = Vec::new();
            if row.tokens.len() > 1 {
                due.push(At::Prefill);
            }
            if row.pick != Pick::Nothing {
                due.push(At::Token);
            }
            for at in due {
                match self.faults.meet(at, &text, 1).map_err(StepError::Fatal)? {
                    Some(Deed::Capacity) => return Err(StepError::Capacity),
                    Some(_) => *broken = true,
                    None => {}
                }
            }
        }
        Ok(broken)
    }

    /// The token that follows a sequence.
    fn next(&self, sequence: &Sequence) -> Token {
        for reply in &self.script.replies {
            if !holds(&sequence.bytes, reply.prompt.as_bytes()) {
                continue;
            }
            let ids = reply.reply.iter().filter_map(|piece| self.vocabulary.token_of(piece.bytes()));
            let ids: Vec<Token> = ids.collect();
            let given = (0..=ids.len()).rev().find(|&n| sequence.tokens.ends_with(&ids[..n])).unwrap_or(0);
            return ids.get(given).copied().unwrap_or(EOS);
        }
        arithmetic(sequence.hashes.last().copied().unwrap_or(0))
    }
}

impl Primitives for MockPrimitives {
    fn engine(&self) -> Engine {
        self.engine
    }

    fn apply(&mut self, op: SeqOp) -> Result<(), Refusal> {
        let cut = self.engine.cut;
        match op {
            SeqOp::Clear { seq } => *self.sequence(seq.0)? = Sequence::default(),
            SeqOp::Truncate { seq, len } => {
                let vocabulary = self.vocabulary.clone();
                let sequence = self.sequence(seq.0)?;
                if cut == Cut::HeadOnly || len as usize >= sequence.tokens.len() {
                    let holds = sequence.tokens.len();
                    return Err(misused(format!(
                        "sequence {} of {holds} tokens cannot be cut to {len}",
                        seq.0
                    )));
                }
                sequence.cut(len as usize, &vocabulary);
            }
            SeqOp::Copy { from, to, len } => {
                let vocabulary = self.vocabulary.clone();
                let mut copy = self.sequence(from.0)?.clone();
                let holds = copy.tokens.len();
                let target = self.sequence(to.0)?;
                let whole = len as usize == holds;
                if !target.tokens.is_empty() || len as usize > holds || (cut == Cut::HeadOnly && !whole) {
                    let message =
                        format!("{len} of {holds} tokens cannot be copied from {} to {}", from.0, to.0);
                    return Err(misused(message));
                }
                copy.cut(len as usize, &vocabulary);
                *target = copy;
            }
            SeqOp::Export { .. } | SeqOp::Import { .. } | SeqOp::Drop { .. } => {
                return Err(misused(format!("{op:?} is no change to a sequence")));
            }
        }
        Ok(())
    }

    /// The number of tokens, then the tokens.
    fn export(&mut self, seq: SeqId) -> Result<Vec<u8>, Refusal> {
        let tokens = &self.sequence(seq.0)?.tokens;
        let count = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        Ok(std::iter::once(&count).chain(tokens).flat_map(|word| word.to_le_bytes()).collect())
    }

    fn import(&mut self, seq: SeqId, len: u32, state: &[u8]) -> Result<(), Refusal> {
        let reads = self.reads();
        let vocabulary = self.vocabulary.clone();
        let (words, rest) = state.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let whole = words.first() == Some(&len) && words.len() == len as usize + 1 && rest.is_empty();
        let target = self.sequence(seq.0)?;
        if !whole || !target.tokens.is_empty() {
            let (bytes, holds) = (state.len(), target.tokens.len());
            return Err(misused(format!(
                "sequence {} of {holds} tokens cannot take {len} in {bytes} bytes",
                seq.0
            )));
        }
        words[1..].iter().for_each(|&token| target.feed(token, reads.then_some(&*vocabulary)));
        Ok(())
    }

    fn step(&mut self, batch: Batch<'_>, abort: &dyn Fn() -> bool) -> Result<(), StepError> {
        self.results.clear();
        self.check(batch)?;
        if let Err(ran) = self.take_time(batch, abort) {
            return Err(StepError::Aborted { fed: self.keep(batch, ran) });
        }
        let broken = self.meet(batch)?;
        let reads = self.reads();
        for (row, broken) in batch.rows.iter().zip(broken) {
            let vocabulary = reads.then_some(&*self.vocabulary);
            let sequence = &mut self.sequences[row.seq as usize];
            row.tokens.iter().for_each(|&token| sequence.feed(token, vocabulary));
            let sequence = &self.sequences[row.seq as usize];
            let hash = sequence.hashes.last().copied().unwrap_or(0);
            let token = if row.pick == Pick::Nothing { 0 } else { self.next(sequence) };
            self.results.push(Brought { pick: row.pick, token, hash, broken });
        }
        Ok(())
    }

    fn picked(&mut self, row: usize) -> Picked<'_> {
        let Some(brought) = self.results.get(row).copied() else { return Picked::Nothing };
        match brought.pick {
            Pick::Nothing => Picked::Nothing,
            Pick::Argmax => Picked::Token(brought.token),
            Pick::Logits => {
                let size = self.vocabulary.size();
                self.logits.clear();
                // Spread over a range of half the lead: sampling has something to choose from.
                let spread = |token: u32| {
                    let bits = brought.hash.wrapping_mul(u64::from(token) * 2 + 1) >> 40;
                    bits as f32 / (1 << 24) as f32 * AHEAD / 2.0
                };
                self.logits.extend((0..size).map(spread));
                self.logits[brought.token as usize] = AHEAD;
                if brought.broken {
                    self.logits[0] = f32::NAN;
                }
                Picked::Logits(&self.logits)
            }
        }
    }

    fn cells_used(&self) -> u32 {
        self.sequences.iter().map(|sequence| u32::try_from(sequence.tokens.len()).unwrap_or(u32::MAX)).sum()
    }
}

impl Sequence {
    fn feed(&mut self, token: Token, vocabulary: Option<&MockVocabulary>) {
        let last = self.hashes.last().copied().unwrap_or(0);
        self.hashes.push(mix(last ^ (u64::from(token) + 1)));
        self.tokens.push(token);
        self.bytes.extend(vocabulary.iter().flat_map(|vocabulary| vocabulary.piece(token)));
    }

    fn cut(&mut self, len: usize, vocabulary: &MockVocabulary) {
        let cut: usize = self.tokens.drain(len..).map(|token| vocabulary.piece(token).len()).sum();
        self.hashes.truncate(len);
        self.bytes.truncate(self.bytes.len().saturating_sub(cut));
    }
}

/// A letter, a space, or about once in a hundred tokens the end of text.
fn arithmetic(hash: u64) -> Token {
    match hash % 97 {
        0 => EOS,
        n if n % 6 == 5 => Token::from(b' '),
        n => Token::from(b"etaoinshrdlucmfwypvbgkjqxz"[n as usize % 26]),
    }
}

/// SplitMix64's finalizer.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn misused(message: String) -> Refusal {
    Refusal::new("mock_misused", message)
}
