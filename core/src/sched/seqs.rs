//! What each sequence on the device holds, and who holds the sequence.
//!
//! A sequence's token list changes only with the operation that changes the device: by an op when
//! the step that carries it is planned (ops are done whatever becomes of the pass), by rows when
//! their step is known to have completed. Cells that sequences share are counted for each of them.

use super::{JobId, SeqId, SeqOp, Token};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Tokens that one might as well run again as have an idle sequence in every pass of a job of
/// ordinary length (measured on llama.cpp: a row of a pass costs about two tokens of a prompt).
const IDLE_COST: i64 = 512;
/// A wider gap costs no more: the pass is then made of two.
const WIDEST: u32 = 4;

/// Who holds a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holder {
    /// Nobody; what it holds may be reused or dropped.
    #[default]
    Nobody,
    /// A running job.
    Lane(JobId),
    /// Nobody, and its content is unknown: it is cleared by the next step.
    Spoiled,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Seq {
    tokens: Vec<Token>,
    pub(super) holder: Holder,
    /// It is kept to be copied: several jobs are likely to go on from it.
    pub(super) root: bool,
    /// Cells a spoiled sequence may take.
    lost: u32,
    /// When it was last used.
    stamp: u64,
}

impl Seq {
    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn cells(&self) -> u64 {
        self.tokens.len() as u64 + u64::from(self.lost)
    }
}

/// All sequences of the device.
#[derive(Clone, Debug)]
pub(super) struct Seqs {
    all: Vec<Seq>,
    cells: u64,
    clock: u64,
    /// Nobody's, empty.
    blank: BTreeSet<SeqId>,
    /// Nobody's, with tokens; least recently used first.
    kept: BTreeSet<(u64, SeqId)>,
}

impl Seqs {
    pub(super) fn new(count: u32) -> Self {
        Self {
            all: (0..count).map(|_| Seq::default()).collect(),
            cells: 0,
            clock: 0,
            blank: (0..count).map(SeqId).collect(),
            kept: BTreeSet::new(),
        }
    }

    /// Cells all sequences take.
    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    pub(super) fn get(&self, id: SeqId) -> &Seq {
        &self.all[id.0 as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SeqId, &Seq)> {
        (0..).map(SeqId).zip(&self.all)
    }

    /// Sequences that keep tokens for nobody, least recently used first.
    pub(super) fn kept(&self) -> impl Iterator<Item = (SeqId, &Seq)> {
        self.kept.iter().map(|&(_, id)| (id, self.get(id)))
    }

    /// Sequences of running jobs.
    pub(super) fn running(&self) -> impl Iterator<Item = (SeqId, &Seq)> {
        self.iter().filter(|(_, seq)| matches!(seq.holder, Holder::Lane(_)))
    }

    /// A sequence a job may take over, `but` excepted: a blank one, else the one whose tokens were
    /// used longest ago; where `neighbours` says that gaps cost, the one that loses least in both.
    pub(super) fn spare(&self, but: Option<SeqId>, neighbours: bool) -> Option<SeqId> {
        let kept = self.kept.iter().map(|&(_, id)| id).filter(|&id| Some(id) != but);
        if !neighbours {
            return self.blank.first().copied().or_else(|| kept.into_iter().next());
        }
        let running: Vec<u32> = self.running().map(|(id, _)| id.0).collect();
        let all = self.kept.len().max(1) as i64;
        // Losing tokens is worse the later they were used: a conversation goes on soon or not at all.
        let losses = (0..).zip(kept).map(|(rank, id)| (self.get(id).tokens().len() as i64 * rank / all, id));
        let blank = self.blank.iter().map(|&id| (0, id));
        let least = blank.chain(losses).min_by_key(|&(loss, id)| loss + widening(&running, id.0));
        least.map(|(_, id)| id)
    }

    /// What the idle sequences between running ones cost once a job runs in `id`, more than they do,
    /// as tokens to run again.
    pub(super) fn widening(&self, id: SeqId) -> i64 {
        let running: Vec<u32> = self.running().map(|(id, _)| id.0).collect();
        widening(&running, id.0)
    }

    /// Gives the sequence to a job.
    pub(super) fn claim(&mut self, id: SeqId, job: JobId) {
        self.change(id, |seq| {
            seq.holder = Holder::Lane(job);
            seq.root = false;
        });
    }

    /// Keeps the sequence to be copied.
    pub(super) fn root(&mut self, id: SeqId) {
        self.touch(id);
        self.change(id, |seq| seq.root = true);
    }

    /// Takes the sequence from its job; its tokens are kept.
    pub(super) fn release(&mut self, id: SeqId) {
        self.touch(id);
        self.change(id, |seq| seq.holder = Holder::Nobody);
    }

    /// Marks a sequence as used now.
    pub(super) fn touch(&mut self, id: SeqId) {
        self.clock += 1;
        let stamp = self.clock;
        self.change(id, |seq| seq.stamp = stamp);
    }

    /// The rows were fed.
    pub(super) fn extend(&mut self, id: SeqId, tokens: &[Token]) {
        self.change(id, |seq| seq.tokens.extend_from_slice(tokens));
    }

    /// Nothing in it can be used; up to `more` rows may have been added before it broke.
    pub(super) fn spoil(&mut self, id: SeqId, more: u32) {
        self.change(id, |seq| {
            seq.lost = u32::try_from(seq.tokens.len()).unwrap_or(u32::MAX).saturating_add(more);
            seq.tokens.clear();
            seq.root = false;
            seq.holder = Holder::Spoiled;
        });
    }

    /// Spoils every kept sequence, so that the next step clears them. Whether there was one.
    pub(super) fn spoil_kept(&mut self) -> bool {
        let kept: Vec<SeqId> = self.kept.iter().map(|&(_, id)| id).collect();
        for &id in &kept {
            self.spoil(id, 0);
        }
        !kept.is_empty()
    }

    /// Clears all spoiled sequences.
    pub(super) fn clear_spoiled(&mut self, ops: &mut Vec<SeqOp>) {
        for id in (0..self.all.len() as u32).map(SeqId) {
            if self.get(id).holder == Holder::Spoiled {
                self.clear(id, ops);
            }
        }
    }

    /// Clears the sequence used longest ago of those kept. Whether there was one.
    pub(super) fn evict_oldest(&mut self, ops: &mut Vec<SeqOp>) -> bool {
        let oldest = self.kept.first().copied();
        if let Some((_, id)) = oldest {
            self.clear(id, ops);
        }
        oldest.is_some()
    }

    /// Makes it nobody's and blank.
    pub(super) fn clear(&mut self, id: SeqId, ops: &mut Vec<SeqOp>) {
        if self.get(id).cells() > 0 || self.get(id).holder == Holder::Spoiled {
            ops.push(SeqOp::Clear { seq: id });
        }
        self.change(id, |seq| {
            seq.tokens = Vec::new();
            seq.root = false;
            seq.lost = 0;
            seq.holder = Holder::Nobody;
        });
    }

    pub(super) fn truncate(&mut self, id: SeqId, len: u32, ops: &mut Vec<SeqOp>) {
        ops.push(SeqOp::Truncate { seq: id, len });
        self.change(id, |seq| seq.tokens.truncate(len as usize));
    }

    pub(super) fn copy(&mut self, from: SeqId, to: SeqId, len: u32, ops: &mut Vec<SeqOp>) {
        ops.push(SeqOp::Copy { from, to, len });
        let tokens = self.get(from).tokens[..len as usize].to_vec();
        self.change(to, |seq| seq.tokens = tokens);
    }

    /// Whether the counters and sets say what the sequences say.
    pub(super) fn is_sound(&self) -> bool {
        let nobodys = |(_, seq): &(SeqId, &Seq)| seq.holder == Holder::Nobody;
        let blank = self.iter().filter(nobodys).filter(|(_, seq)| seq.tokens.is_empty()).map(|(id, _)| id);
        let kept = self.iter().filter(nobodys).filter(|(_, seq)| !seq.tokens.is_empty());
        self.cells == self.all.iter().map(Seq::cells).sum::<u64>()
            && self.all.iter().all(|seq| seq.lost == 0 || seq.holder == Holder::Spoiled)
            && self.all.iter().all(|seq| !seq.root || seq.holder == Holder::Nobody)
            && self.blank == blank.collect()
            && self.kept == kept.map(|(id, seq)| (seq.stamp, id)).collect()
    }

    fn change(&mut self, id: SeqId, change: impl FnOnce(&mut Seq)) {
        let Some(seq) = self.all.get_mut(id.0 as usize) else { return };
        self.kept.remove(&(seq.stamp, id));
        self.blank.remove(&id);
        self.cells -= seq.cells();
        change(seq);
        self.cells += seq.cells();
        if seq.holder == Holder::Nobody {
            if seq.tokens.is_empty() {
                self.blank.insert(id);
            } else {
                self.kept.insert((seq.stamp, id));
            }
        }
    }
}

/// [`Seqs::widening`] beside `running`, which ascends.
fn widening(running: &[u32], id: u32) -> i64 {
    let cost = |idle: u32| i64::from(idle.min(WIDEST)) * IDLE_COST;
    let at = running.partition_point(|&other| other < id);
    let below = at.checked_sub(1).map(|below| id - running[below] - 1);
    let above = running.get(at).map(|above| above - id - 1);
    match (below, above) {
        (Some(below), Some(above)) => cost(below) + cost(above) - cost(below + above + 1),
        (Some(idle), None) | (None, Some(idle)) => cost(idle),
        (None, None) => 0,
    }
}
