//! An engine whose state is a hash of the tokens it was fed, in order, and whose next token is a
//! function of that hash: whatever mixes conversations up changes what is said.

use std::collections::BTreeMap;
use superfluid_core::sched::{Copying, Cut, End, Engine, Rows, SeqOp, StateId, Step, Token};

/// Tokens lie below this; small, so that prompts meet by chance.
const VOCABULARY: u64 = 31;

/// The hash of a token list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    pub(crate) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    pub(crate) fn fed(self, token: Token) -> Self {
        let mixed = (self.0 ^ u64::from(token).wrapping_add(0x9e37_79b9)).wrapping_mul(0x0100_0000_01b3);
        Self(mixed ^ (mixed >> 29))
    }

    pub(crate) fn of(tokens: &[Token]) -> Self {
        tokens.iter().fold(Self::EMPTY, |state, &token| state.fed(token))
    }

    /// The token that follows, and whether it ends the text.
    pub(crate) fn next(self) -> (Token, Option<End>) {
        let end = match self.0 % 29 {
            0 => Some(End::EndOfText),
            1 => Some(End::StopString),
            _ => None,
        };
        (((self.0 >> 32) % VOCABULARY) as Token, end)
    }
}

/// What no token list hashes to.
const BROKEN: State = State(0xdead);

/// States after 0, 1, 2, … tokens; a sequence that was never fed holds only the first.
#[derive(Clone, Debug)]
struct Seq(Vec<State>);

impl Seq {
    fn len(&self) -> usize {
        self.0.len() - 1
    }
}

/// The engine. It panics where the scheduler asks for what it may not ask for.
#[derive(Clone, Debug)]
pub(crate) struct HashEngine {
    pub(crate) can: Engine,
    /// Cells it really has; at most what it says.
    pub(crate) cells: u32,
    seqs: Vec<Seq>,
    /// Host memory.
    states: BTreeMap<StateId, Seq>,
    /// How many of the next exports and imports come to nothing.
    pub(crate) loses: u32,
    /// Those that did in the step that has begun.
    pub(crate) lost: Vec<StateId>,
    /// Tokens imported so far.
    pub(crate) imported: usize,
}

impl HashEngine {
    pub(crate) fn new(can: Engine, cells: u32) -> Self {
        let seqs = (0..can.seqs).map(|_| Seq(vec![State::EMPTY])).collect();
        Self { can, cells, seqs, states: BTreeMap::new(), loses: 0, lost: Vec::new(), imported: 0 }
    }

    pub(crate) fn held(&self) -> usize {
        self.seqs.iter().map(Seq::len).sum()
    }

    /// Bytes its states take.
    pub(crate) fn host_bytes(&self) -> u64 {
        self.states.values().map(|state| self.can.keeping.state(state.len() as u32)).sum()
    }

    /// The states that were lost are no more.
    pub(crate) fn take_lost(&mut self) -> Vec<StateId> {
        for state in &self.lost {
            self.states.remove(state);
        }
        std::mem::take(&mut self.lost)
    }

    fn loses(&mut self, state: StateId) -> bool {
        let loses = self.loses > 0;
        if loses {
            self.loses -= 1;
            self.lost.push(state);
        }
        loses
    }

    /// Does a step's ops and checks its rows.
    pub(crate) fn begin(&mut self, step: &Step) {
        for &op in &step.ops {
            self.apply(op);
            assert!(self.held() <= self.can.pool_tokens as usize, "{op:?} overfills the pool");
        }
        let rows: usize = step.rows.iter().map(|rows| rows.tokens.len()).sum();
        assert!(rows <= self.can.step_tokens as usize, "{rows} tokens in a step");
        assert!(rows > 0, "an empty step");
        assert!(self.held() + rows <= self.can.pool_tokens as usize, "the rows overfill the pool");
        for (at, rows) in step.rows.iter().enumerate() {
            let before = &step.rows[..at];
            assert!(
                before.iter().all(|other| other.job != rows.job && other.seq != rows.seq),
                "twice: {rows:?}"
            );
            assert!(!rows.tokens.is_empty(), "no tokens: {rows:?}");
            assert_eq!(self.seqs[rows.seq.0 as usize].len(), rows.start as usize, "start: {rows:?}");
            let end = rows.start as usize + rows.tokens.len();
            assert!(end <= self.can.seq_tokens as usize, "beyond the sequence: {rows:?}");
        }
    }

    /// Whether the rows fit what it really has.
    pub(crate) fn has_room(&self, step: &Step) -> bool {
        let rows: usize = step.rows.iter().map(|rows| rows.tokens.len()).sum();
        self.held() + rows <= self.cells as usize
    }

    /// Feeds an entry's rows; what follows.
    pub(crate) fn feed(&mut self, rows: &Rows) -> (Token, Option<End>) {
        let seq = &mut self.seqs[rows.seq.0 as usize].0;
        let mut state = seq[seq.len() - 1];
        for &token in &rows.tokens {
            state = state.fed(token);
            seq.push(state);
        }
        state.next()
    }

    /// Breaks an entry's sequence: it holds what no token list hashes to.
    pub(crate) fn breaks(&mut self, rows: &Rows) {
        let seq = &mut self.seqs[rows.seq.0 as usize].0;
        seq.extend(rows.tokens.iter().map(|_| BROKEN));
        seq.fill(BROKEN);
    }

    fn apply(&mut self, op: SeqOp) {
        match op {
            SeqOp::Clear { seq } => self.seqs[seq.0 as usize] = Seq(vec![State::EMPTY]),
            SeqOp::Truncate { seq, len } => {
                assert_eq!(self.can.cut, Cut::Anywhere, "{op:?}");
                let seq = &mut self.seqs[seq.0 as usize];
                assert!((len as usize) < seq.len(), "{op:?} of {}", seq.len());
                seq.0.truncate(len as usize + 1);
            }
            SeqOp::Copy { from, to, len } => {
                assert_ne!(self.can.copying, Copying::Never, "{op:?}");
                let source = &self.seqs[from.0 as usize];
                let whole = len as usize == source.len();
                assert!(whole || (len as usize) < source.len() && self.can.cut == Cut::Anywhere, "{op:?}");
                let copy = Seq(source.0[..=len as usize].to_vec());
                assert_eq!(self.seqs[to.0 as usize].len(), 0, "{op:?}");
                self.seqs[to.0 as usize] = copy;
            }
            SeqOp::Export { seq, state, len } => {
                let mut copy = self.seqs[seq.0 as usize].clone();
                assert_eq!(copy.len(), len as usize, "{op:?}");
                if self.loses(state) {
                    copy.0.fill(BROKEN);
                }
                assert!(self.states.insert(state, copy).is_none(), "{op:?}: a name used twice");
                assert!(self.host_bytes() <= self.can.keeping.host_bytes, "{op:?} overfills the host");
            }
            SeqOp::Import { state, seq, len } => {
                let mut copy = self.states[&state].clone();
                assert_eq!(copy.len(), len as usize, "{op:?}");
                assert_eq!(self.seqs[seq.0 as usize].len(), 0, "{op:?}");
                if self.loses(state) {
                    copy.0.fill(BROKEN);
                }
                self.imported += copy.len();
                self.seqs[seq.0 as usize] = copy;
            }
            SeqOp::Drop { state } => assert!(self.states.remove(&state).is_some(), "{op:?}"),
        }
    }
}
