//! One suite for every [`Primitives`]: what the generic executor relies on.
//!
//! A worker crate loads a small model with at least 3 sequences, 2 lanes and 96 tokens a sequence,
//! and calls [`run`]. A broken promise panics and names itself.

use crate::primitives::{Batch, BatchRow, Pick, Picked, Primitives, StepError};
use crate::sample::argmax;
use superfluid_core::sched::{Copying, Cut, SeqId, SeqOp, Token};

/// What the suite is told of the model.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Vocabulary size.
    pub vocab: u32,
    /// Two prompts of 8 to 24 ordinary tokens that differ from the first token on.
    pub prompts: [Vec<Token>; 2],
    /// How far below the best a token's logit may lie that another batch shape chooses; 0 for exact
    /// arithmetic.
    pub margin: f32,
}

/// Tokens generated where texts are compared.
const LENGTH: usize = 16;

/// Runs every check. The sequences are left empty.
pub fn run(primitives: &mut dyn Primitives, setup: &Setup) {
    let mut suite = Suite { primitives, setup };
    for check in [
        Suite::the_engine_is_sound,
        Suite::cells_are_counted,
        Suite::argmax_is_the_hosts,
        Suite::chunks_change_nothing,
        Suite::alone_and_together_agree,
        Suite::a_cut_forgets,
        Suite::a_copy_is_its_source,
        Suite::a_state_comes_back_as_it_was,
        Suite::a_torn_state_is_refused,
        Suite::giving_up_changes_nothing,
        Suite::no_room_changes_nothing,
    ] {
        suite.clear();
        check(&mut suite);
    }
    suite.clear();
    suite.a_wrong_position_is_no_silent_success();
    suite.clear();
}

struct Suite<'a> {
    primitives: &'a mut dyn Primitives,
    setup: &'a Setup,
}

impl Suite<'_> {
    fn the_engine_is_sound(&mut self) {
        let engine = self.primitives.engine();
        assert!(engine.lanes >= 2, "the suite needs 2 lanes: {engine:?}");
        assert!(engine.seqs >= engine.lanes && engine.seqs >= 3, "{engine:?}");
        assert!(engine.seq_tokens >= 96 && engine.step_tokens >= engine.lanes, "{engine:?}");
        assert!(engine.pool_tokens >= engine.seq_tokens, "{engine:?}");
        assert_eq!(self.primitives.engine(), engine, "the same answer always");
    }

    fn cells_are_counted(&mut self) {
        assert_eq!(self.primitives.cells_used(), 0, "empty sequences use cells");
        let prompt = self.prompt(0);
        self.feed(0, 0, &prompt, Pick::Nothing);
        assert_eq!(self.primitives.cells_used() as usize, prompt.len());
        self.op(SeqOp::Clear { seq: SeqId(0) });
        assert_eq!(self.primitives.cells_used(), 0, "a cleared sequence uses cells");
        self.op(SeqOp::Clear { seq: SeqId(0) });
    }

    fn argmax_is_the_hosts(&mut self) {
        let prompt = self.prompt(0);
        let logits = self.logits(0, 0, &prompt);
        assert_eq!(logits.len(), self.setup.vocab as usize, "one logit a vocabulary entry");
        let host = argmax(&logits).expect("logits are numbers");
        self.clear();
        let own = self.token(0, 0, &prompt);
        self.near(&logits, own, "the runtime's argmax");
        self.near(&logits, host, "the host's argmax");
    }

    /// A prompt in one piece, in many, and token by token.
    fn chunks_change_nothing(&mut self) {
        let prompt = self.prompt(0);
        let whole = self.logits(0, 0, &prompt);
        for size in [1, 3, 7] {
            self.clear();
            let mut start = 0;
            let (last, head) = prompt.split_last().expect("a prompt");
            for chunk in head.chunks(size) {
                self.feed(0, start, chunk, Pick::Nothing);
                start += chunk.len() as u32;
            }
            let pieces = self.logits(0, start, &[*last]);
            self.near(&whole, argmax(&pieces).expect("numbers"), &format!("a prompt in chunks of {size}"));
        }
    }

    /// Two jobs in one pass get what each gets alone. Where rounding decides, both candidates lie
    /// within the margin.
    fn alone_and_together_agree(&mut self) {
        let prompts = [self.prompt(0), self.prompt(1)];
        let alone = [0, 1].map(|which| {
            self.clear();
            self.generate(which as u32, &prompts[which])
        });
        self.clear();
        let mut parted = [false; 2];
        let both = prompts[0].len() + prompts[1].len();
        let fits = both <= self.primitives.engine().step_tokens as usize;
        let mut feed: [Vec<Token>; 2] = prompts.clone();
        let mut start = [0_u32; 2];
        for which in 0..if fits { 0 } else { 2 } {
            let head = feed[which].len() - 1;
            let last = feed[which].split_off(head);
            let head = std::mem::replace(&mut feed[which], last);
            self.feed(which as u32, 0, &head, Pick::Nothing);
            start[which] = head.len() as u32;
        }
        for (first, second) in alone[0].iter().zip(&alone[1]) {
            let rows = [0, 1].map(|which| BatchRow {
                seq: which as u32,
                start: start[which],
                tokens: &feed[which],
                pick: Pick::Logits,
            });
            self.pass(&rows).expect("a pass with two rows");
            for which in 0..2 {
                let logits = self.logits_of(which);
                let wanted = [*first, *second][which];
                if !parted[which] {
                    self.near(&logits, wanted, "a token generated alone, seen in a batch");
                }
                parted[which] |= argmax(&logits).expect("numbers") != wanted;
                start[which] += feed[which].len() as u32;
                // Teacher-forced: both go on with what was generated alone.
                feed[which] = vec![wanted];
            }
        }
        assert!(self.setup.margin > 0.0 || parted == [false; 2], "exact arithmetic parted");
    }

    fn a_cut_forgets(&mut self) {
        if self.primitives.engine().cut != Cut::Anywhere {
            return;
        }
        let (prompt, other) = (self.prompt(0), self.prompt(1));
        let clean = self.logits(0, 0, &prompt);
        let half = prompt.len() as u32 / 2;
        self.op(SeqOp::Truncate { seq: SeqId(0), len: half });
        assert_eq!(self.primitives.cells_used(), half, "a cut frees cells");
        self.feed(0, half, &other, Pick::Nothing);
        self.op(SeqOp::Truncate { seq: SeqId(0), len: half });
        let again = self.logits(0, half, &prompt[half as usize..]);
        self.near(&clean, argmax(&again).expect("numbers"), "a sequence cut and fed again");
    }

    fn a_copy_is_its_source(&mut self) {
        let engine = self.primitives.engine();
        if engine.copying == Copying::Never {
            return;
        }
        let prompt = self.prompt(0);
        let (last, head) = prompt.split_last().expect("a prompt");
        let len = head.len() as u32;
        self.feed(0, 0, head, Pick::Nothing);
        self.op(SeqOp::Copy { from: SeqId(0), to: SeqId(2), len });
        let source = self.logits(0, len, &[*last]);
        let copy = self.logits(2, len, &[*last]);
        self.near(&source, argmax(&copy).expect("numbers"), "a copy");
        // Each goes its own way.
        self.op(SeqOp::Clear { seq: SeqId(0) });
        let after = self.logits(2, len + 1, &[*last]);
        assert!(argmax(&after).is_ok(), "a copy outlives its source");
        if engine.cut == Cut::Anywhere {
            self.op(SeqOp::Copy { from: SeqId(2), to: SeqId(1), len: len / 2 });
            let part = self.logits(1, len / 2, &prompt[len as usize / 2..]);
            self.near(&source, argmax(&part).expect("numbers"), "a copy of a part");
        }
    }

    fn a_state_comes_back_as_it_was(&mut self) {
        if !self.primitives.engine().keeping.exports() {
            return;
        }
        let (prompt, other) = (self.prompt(0), self.prompt(1));
        let (last, head) = prompt.split_last().expect("a prompt");
        let len = head.len() as u32;
        self.feed(0, 0, head, Pick::Nothing);
        self.feed(1, 0, &other, Pick::Nothing);
        let state = self.export(0);
        let clean = self.logits(0, len, &[*last]);
        self.op(SeqOp::Clear { seq: SeqId(0) });
        let beside = self.primitives.cells_used();
        // Into another sequence than it came from, next to one that goes on.
        self.import(2, len, &state);
        assert_eq!(self.primitives.cells_used(), beside + len, "an import counts");
        let back = self.logits(2, len, &[*last]);
        self.near(&clean, argmax(&back).expect("numbers"), "a state that came back");
        // A state serves as often as it is wanted.
        self.import(0, len, &state);
        let again = self.logits(0, len, &[*last]);
        self.near(&clean, argmax(&again).expect("numbers"), "a state that came back twice");
        if self.primitives.engine().cut == Cut::Anywhere {
            let half = len / 2;
            self.op(SeqOp::Clear { seq: SeqId(2) });
            self.import(2, len, &state);
            self.op(SeqOp::Truncate { seq: SeqId(2), len: half });
            let cut = self.logits(2, half, &prompt[half as usize..]);
            self.near(&clean, argmax(&cut).expect("numbers"), "a state that came back and was cut");
        }
    }

    /// Bytes that are no state leave the sequence empty and its neighbours as they were.
    fn a_torn_state_is_refused(&mut self) {
        if !self.primitives.engine().keeping.exports() {
            return;
        }
        let (prompt, other) = (self.prompt(0), self.prompt(1));
        self.feed(0, 0, &prompt, Pick::Nothing);
        let state = self.export(0);
        let beside = self.token(1, 0, &other);
        let cells = self.primitives.cells_used();
        for torn in [&state[..state.len() / 2], &state[..state.len() - 1], &[][..]] {
            let told = self.primitives.import(SeqId(2), prompt.len() as u32, torn);
            assert!(told.is_err(), "{} of {} bytes were taken for a state", torn.len(), state.len());
            assert_eq!(self.primitives.cells_used(), cells, "a torn state left cells");
        }
        let short = self.primitives.import(SeqId(2), prompt.len() as u32 - 1, &state);
        assert!(short.is_err(), "a state of another length was taken");
        self.feed(2, 0, &prompt, Pick::Nothing);
        let after = self.token(1, other.len() as u32, &[beside]);
        self.clear();
        self.feed(1, 0, &other, Pick::Nothing);
        let logits = self.logits(1, other.len() as u32, &[beside]);
        self.near(&logits, after, "a neighbour of a torn state");
    }

    fn export(&mut self, seq: u32) -> Vec<u8> {
        let engine = self.primitives.engine();
        let state = self.primitives.export(SeqId(seq)).unwrap_or_else(|refusal| panic!("{refusal}"));
        let held = self.primitives.cells_used().min(engine.seq_tokens);
        let (bytes, most) = (state.len() as u64, engine.keeping.state(held));
        assert!(bytes <= most, "a state of {bytes} bytes, {most} were said to be the most");
        state
    }

    fn import(&mut self, seq: u32, len: u32, state: &[u8]) {
        let told = self.primitives.import(SeqId(seq), len, state);
        told.unwrap_or_else(|refusal| panic!("{len} tokens into sequence {seq}: {refusal}"));
    }

    /// Whether or not the runtime asks in so small a pass, the sequence is as it was or whole.
    fn giving_up_changes_nothing(&mut self) {
        let prompt = self.prompt(0);
        let (last, head) = prompt.split_last().expect("a prompt");
        let clean = self.logits(0, 0, &prompt);
        self.clear();
        self.feed(0, 0, head, Pick::Nothing);
        let start = head.len() as u32;
        let rows = [BatchRow { seq: 0, start, tokens: &[*last], pick: Pick::Logits }];
        let logits = match self.primitives.step(Batch { rows: &rows }, &|| true) {
            Ok(()) => self.logits_of(0),
            Err(StepError::Aborted { fed }) => {
                assert_eq!(fed, [0], "a row that wants something was fed whole");
                assert_eq!(self.primitives.cells_used(), start, "a pass given up left cells");
                self.logits(0, start, &[*last])
            }
            Err(other) => panic!("a pass given up failed with {other}"),
        };
        self.near(&clean, argmax(&logits).expect("numbers"), "a pass given up and run again");
    }

    /// Fills one sequence past its end.
    fn no_room_changes_nothing(&mut self) {
        let engine = self.primitives.engine();
        let prompt = self.prompt(0);
        let beside = self.token(1, 0, &prompt);
        let mut held = 0;
        let most = engine.seq_tokens.min(engine.pool_tokens - prompt.len() as u32);
        while held < most {
            let chunk = engine.step_tokens.min(most - held).min(64);
            let tokens: Vec<Token> = prompt.iter().copied().cycle().take(chunk as usize).collect();
            self.feed(0, held, &tokens, Pick::Nothing);
            held += chunk;
        }
        let cells = self.primitives.cells_used();
        let more = prompt.len().min(engine.step_tokens as usize - 1);
        let rows = [
            BatchRow { seq: 0, start: held, tokens: &prompt[..more], pick: Pick::Nothing },
            BatchRow { seq: 1, start: prompt.len() as u32, tokens: &[beside], pick: Pick::Argmax },
        ];
        match self.pass(&rows) {
            Err(StepError::Capacity) => {}
            other => panic!("a pass past the end of sequence 0 gave {other:?}"),
        }
        assert_eq!(self.primitives.cells_used(), cells, "a pass without room left cells");
        self.op(SeqOp::Clear { seq: SeqId(0) });
        let after = self.token(1, prompt.len() as u32, &[beside]);
        self.clear();
        self.feed(1, 0, &prompt, Pick::Nothing);
        let logits = self.logits(1, prompt.len() as u32, &[beside]);
        self.near(&logits, after, "a neighbour of a pass without room");
    }

    fn a_wrong_position_is_no_silent_success(&mut self) {
        let prompt = self.prompt(0);
        self.feed(0, 0, &prompt, Pick::Nothing);
        let rows =
            [BatchRow { seq: 0, start: prompt.len() as u32 + 3, tokens: &prompt, pick: Pick::Nothing }];
        match self.pass(&rows) {
            Err(StepError::Fatal(refusal)) => assert!(!refusal.message.is_empty()),
            other => panic!("rows at a wrong position gave {other:?}"),
        }
    }

    fn prompt(&self, which: usize) -> Vec<Token> {
        self.setup.prompts[which].clone()
    }

    fn clear(&mut self) {
        for seq in 0..self.primitives.engine().seqs {
            self.op(SeqOp::Clear { seq: SeqId(seq) });
        }
    }

    fn op(&mut self, op: SeqOp) {
        self.primitives.apply(op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
    }

    fn pass(&mut self, rows: &[BatchRow<'_>]) -> Result<(), StepError> {
        self.primitives.step(Batch { rows }, &|| false)
    }

    /// Feeds in passes the engine can carry; `pick` is wanted after the last token.
    fn feed(&mut self, seq: u32, start: u32, tokens: &[Token], pick: Pick) {
        let size = self.primitives.engine().step_tokens as usize;
        let (mut at, chunks) = (start, tokens.chunks(size));
        let last = chunks.len() - 1;
        for (index, tokens) in chunks.enumerate() {
            let pick = if index == last { pick } else { Pick::Nothing };
            let rows = [BatchRow { seq, start: at, tokens, pick }];
            self.pass(&rows).unwrap_or_else(|error| panic!("feeding sequence {seq} at {at}: {error}"));
            at += tokens.len() as u32;
        }
    }

    fn logits(&mut self, seq: u32, start: u32, tokens: &[Token]) -> Vec<f32> {
        self.feed(seq, start, tokens, Pick::Logits);
        self.logits_of(0)
    }

    fn logits_of(&mut self, row: usize) -> Vec<f32> {
        match self.primitives.picked(row) {
            Picked::Logits(logits) => logits.to_vec(),
            other => panic!("row {row} wanted logits and got {other:?}"),
        }
    }

    fn token(&mut self, seq: u32, start: u32, tokens: &[Token]) -> Token {
        self.feed(seq, start, tokens, Pick::Argmax);
        match self.primitives.picked(0) {
            Picked::Token(token) => token,
            other => panic!("argmax was wanted and came as {other:?}"),
        }
    }

    fn generate(&mut self, seq: u32, prompt: &[Token]) -> Vec<Token> {
        let mut tokens = Vec::new();
        let (mut start, mut feed) = (0, prompt.to_vec());
        while tokens.len() < LENGTH {
            let token = self.token(seq, start, &feed);
            start += feed.len() as u32;
            feed = vec![token];
            tokens.push(token);
        }
        tokens
    }

    /// `token` is the best of `logits`, or so near that another batch shape may choose it.
    fn near(&self, logits: &[f32], token: Token, what: &str) {
        let best = argmax(logits).expect("logits are numbers");
        let below = logits[best as usize] - logits[token as usize];
        assert!(
            best == token || below <= self.setup.margin,
            "{what} chose token {token}, {below} below the best, {best}; the margin is {}",
            self.setup.margin
        );
    }
}
