//! What each sequence on the device holds, and who holds the sequence.
//!
//! A sequence's token list changes only with the operation that changes the device: by an op when
//! the step that carries it is planned (ops are done whatever becomes of the pass), by rows when
//! their step is known to have completed. Cells that sequences share are counted for each of them.
//!
//! The tokens themselves are in the tree, once for all sequences that begin alike.

use super::shelf::Shelf;
use super::tolls::Tolls;
use super::{Config, Cut, JobId, SeqId, SeqOp, StateId, Token};
use crate::cache::{EntryId, Hold, Match, Place, Tree};
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
    /// Its tokens; none where it is empty.
    pub(super) entry: Option<EntryId>,
    len: u32,
    /// The receipt of the running job that holds its tokens.
    hold: Option<Hold>,
    pub(super) holder: Holder,
    /// It is kept to be copied: several jobs are likely to go on from it.
    pub(super) root: bool,
    /// Cells a spoiled sequence may take.
    lost: u32,
    /// When it was last used.
    stamp: u64,
}

impl Seq {
    /// Tokens it holds.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    fn cells(&self) -> u64 {
        u64::from(self.len) + u64::from(self.lost)
    }
}

/// All sequences of the device.
#[derive(Clone, Debug)]
pub(super) struct Seqs {
    all: Vec<Seq>,
    pub(super) tree: Tree,
    pub(super) shelf: Shelf,
    pub(super) tolls: Tolls,
    cells: u64,
    clock: u64,
    /// Nobody's, empty.
    blank: BTreeSet<SeqId>,
    /// Nobody's, with tokens; least recently used first.
    kept: BTreeSet<(u64, SeqId)>,
    running: BTreeSet<SeqId>,
    spoiled: BTreeSet<SeqId>,
    /// The device has no room for kept sequences: the next step gives them up.
    crowded: bool,
}

/// What a kept sequence, a running one and a state in host memory share with a prompt, each the one
/// that shares most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heads {
    pub(super) kept: Option<(SeqId, u32)>,
    pub(super) running: Option<(SeqId, u32)>,
    pub(super) host: Option<(StateId, u32)>,
}

impl Seqs {
    pub(super) fn new(count: u32) -> Self {
        Self {
            all: (0..count).map(|_| Seq::default()).collect(),
            tree: Tree::new(),
            shelf: Shelf::default(),
            tolls: Tolls::default(),
            cells: 0,
            clock: 0,
            blank: (0..count).map(SeqId).collect(),
            kept: BTreeSet::new(),
            running: BTreeSet::new(),
            spoiled: BTreeSet::new(),
            crowded: false,
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

    /// Finds sequences that begin like `tokens`, in one walk along them.
    pub(super) fn find(&self, tokens: &[Token], cut: Cut) -> Heads {
        let found = self.tree.find(tokens, cut);
        let tagged =
            |found: Option<Match>| found.and_then(|found| Some((self.tree.tag(found.entry)?, found.shared)));
        let seq = |found| tagged(found).map(|(tag, shared)| (SeqId(tag), shared));
        let host = tagged(found.host).map(|(tag, shared)| (StateId(tag), shared));
        Heads { kept: seq(found.kept), running: seq(found.running), host }
    }

    /// Whether what the sequence holds is the head of `tokens`.
    pub(super) fn is_head_of(&self, id: SeqId, tokens: &[Token]) -> bool {
        self.get(id).entry.is_none_or(|entry| self.tree.is_head_of(entry, tokens))
    }

    /// Whether a kept sequence holds what this one holds.
    pub(super) fn is_kept_too(&self, id: SeqId) -> bool {
        self.get(id).entry.is_some_and(|entry| self.tree.twins(entry).any(|twin| !self.tree.is_held(twin)))
    }

    /// Cells that running jobs take.
    pub(super) fn running_cells(&self) -> u64 {
        self.running.iter().map(|&id| self.get(id).cells()).sum()
    }

    /// Cells that kept sequences take.
    pub(super) fn kept_cells(&self) -> u64 {
        self.kept.iter().map(|&(_, id)| self.get(id).cells()).sum()
    }

    /// How many sequences are held for running jobs.
    pub(super) fn running_len(&self) -> usize {
        self.running.len()
    }

    /// A sequence a job may take over, `but` excepted: a blank one, else the one whose tokens were
    /// used longest ago; where `neighbours` says that gaps cost, the one that loses least in both.
    pub(super) fn spare(&self, but: Option<SeqId>, neighbours: bool) -> Option<SeqId> {
        let kept = self.kept.iter().map(|&(_, id)| id).filter(|&id| Some(id) != but);
        if !neighbours {
            return self.blank.first().copied().or_else(|| kept.into_iter().next());
        }
        let running: Vec<u32> = self.running.iter().map(|id| id.0).collect();
        let all = self.kept.len().max(1) as i64;
        // Losing tokens is worse the later they were used: a conversation goes on soon or not at all.
        let losses = (0..).zip(kept).map(|(rank, id)| (i64::from(self.get(id).len) * rank / all, id));
        let blank = self.blank.iter().map(|&id| (0, id));
        let least = blank.chain(losses).min_by_key(|&(loss, id)| loss + widening(&running, id.0));
        least.map(|(_, id)| id)
    }

    /// What the idle sequences between running ones cost once a job runs in `id`, more than they do,
    /// as tokens to run again.
    pub(super) fn widening(&self, id: SeqId) -> i64 {
        let running: Vec<u32> = self.running.iter().map(|id| id.0).collect();
        widening(&running, id.0)
    }

    /// Gives the sequence to a job.
    pub(super) fn claim(&mut self, id: SeqId, job: JobId) {
        self.change(id, |seq, tree| {
            seq.holder = Holder::Lane(job);
            seq.root = false;
            seq.hold = seq.entry.map(|entry| tree.hold(entry));
        });
    }

    /// Keeps the sequence to be copied.
    pub(super) fn root(&mut self, id: SeqId) {
        self.touch(id);
        self.change(id, |seq, _| seq.root = true);
    }

    /// Takes the sequence from its job; its tokens are kept.
    pub(super) fn release(&mut self, id: SeqId) {
        self.touch(id);
        self.change(id, Seq::leave);
    }

    /// Marks a sequence as used now.
    pub(super) fn touch(&mut self, id: SeqId) {
        let stamp = self.tick();
        self.change(id, |seq, _| seq.stamp = stamp);
    }

    /// A moment after all before.
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The rows were fed.
    pub(super) fn extend(&mut self, id: SeqId, tokens: &[Token]) {
        self.change(id, |seq, tree| {
            seq.len += tokens.len() as u32;
            if let Some(entry) = seq.entry {
                tree.extend(entry, tokens);
            } else {
                let entry = tree.insert(tokens, Place::Device, id.0);
                seq.hold = matches!(seq.holder, Holder::Lane(_)).then(|| tree.hold(entry));
                seq.entry = Some(entry);
            }
        });
    }

    /// Nothing in it can be used; up to `more` rows may have been added before it broke.
    pub(super) fn spoil(&mut self, id: SeqId, more: u32) {
        self.change(id, |seq, tree| {
            seq.lost = seq.len.saturating_add(more);
            seq.forget(tree);
            seq.holder = Holder::Spoiled;
        });
    }

    /// The next step gives every kept sequence up. Whether there was one.
    pub(super) fn crowd_out(&mut self) -> bool {
        self.crowded |= !self.kept.is_empty();
        !self.kept.is_empty()
    }

    /// Clears all spoiled sequences, and kept ones the device has no room for.
    pub(super) fn clear_spoiled(&mut self, config: &Config, ops: &mut Vec<SeqOp>) {
        while let Some(&id) = self.spoiled.first() {
            self.clear(id, ops);
        }
        while core::mem::take(&mut self.crowded) && self.evict_oldest(config, ops) {
            self.crowded = true;
        }
    }

    /// Gives the sequence up that was used longest ago of those kept. Whether there was one.
    pub(super) fn evict_oldest(&mut self, config: &Config, ops: &mut Vec<SeqOp>) -> bool {
        let oldest = self.kept.first().copied();
        if let Some((_, id)) = oldest {
            self.give_up(id, config, ops);
        }
        oldest.is_some()
    }

    /// Makes it nobody's and blank.
    pub(super) fn clear(&mut self, id: SeqId, ops: &mut Vec<SeqOp>) {
        if self.get(id).cells() > 0 || self.get(id).holder == Holder::Spoiled {
            ops.push(SeqOp::Clear { seq: id });
        }
        self.change(id, |seq, tree| {
            seq.forget(tree);
            seq.lost = 0;
        });
    }

    pub(super) fn truncate(&mut self, id: SeqId, len: u32, ops: &mut Vec<SeqOp>) {
        ops.push(SeqOp::Truncate { seq: id, len });
        self.change(id, |seq, tree| {
            seq.len = seq.len.min(len);
            if let Some(entry) = seq.entry {
                tree.truncate(entry, len);
            }
        });
    }

    pub(super) fn copy(&mut self, from: SeqId, to: SeqId, len: u32, ops: &mut Vec<SeqOp>) {
        ops.push(SeqOp::Copy { from, to, len });
        if let Some(source) = self.get(from).entry {
            self.fill(to, source, len);
        }
    }

    /// The blank sequence holds the first `len` tokens of an entry now.
    pub(super) fn fill(&mut self, to: SeqId, of: EntryId, len: u32) {
        self.change(to, |seq, tree| {
            seq.entry = Some(tree.fork(of, len, Place::Device, to.0));
            seq.len = len;
        });
    }

    /// Whether the counters, the sets and the tree say what the sequences say.
    pub(super) fn is_sound(&self) -> bool {
        let of = |which: &dyn Fn(&Seq) -> bool| -> BTreeSet<SeqId> {
            self.iter().filter(|(_, seq)| which(seq)).map(|(id, _)| id).collect()
        };
        let kept = self.iter().filter(|(_, seq)| seq.holder == Holder::Nobody && seq.len > 0);
        let held = |seq: &Seq| seq.entry.is_some_and(|entry| self.tree.is_held(entry));
        self.cells == self.all.iter().map(Seq::cells).sum::<u64>()
            && self.all.iter().all(|seq| seq.lost == 0 || seq.holder == Holder::Spoiled)
            && self.all.iter().all(|seq| !seq.root || seq.holder == Holder::Nobody)
            && self.all.iter().all(|seq| seq.len == seq.entry.map_or(0, |entry| self.tree.tokens_len(entry)))
            && self.all.iter().all(|seq| held(seq) == (matches!(seq.holder, Holder::Lane(_)) && seq.len > 0))
            && self.tree.len() == self.all.iter().filter(|seq| seq.entry.is_some()).count() + self.shelf.len()
            && self.shelf_is_sound()
            && self.tree.check_invariants().is_ok()
            && self.blank == of(&|seq| seq.holder == Holder::Nobody && seq.len == 0)
            && self.kept == kept.map(|(id, seq)| (seq.stamp, id)).collect()
            && self.running == of(&|seq| matches!(seq.holder, Holder::Lane(_)))
            && self.spoiled == of(&|seq| seq.holder == Holder::Spoiled)
    }

    fn change(&mut self, id: SeqId, change: impl FnOnce(&mut Seq, &mut Tree)) {
        let Some(seq) = self.all.get_mut(id.0 as usize) else { return };
        match seq.holder {
            Holder::Nobody if seq.len == 0 => self.blank.remove(&id),
            Holder::Nobody => self.kept.remove(&(seq.stamp, id)),
            Holder::Lane(_) => self.running.remove(&id),
            Holder::Spoiled => self.spoiled.remove(&id),
        };
        self.cells -= seq.cells();
        change(seq, &mut self.tree);
        self.cells += seq.cells();
        match seq.holder {
            Holder::Nobody if seq.len == 0 => self.blank.insert(id),
            Holder::Nobody => self.kept.insert((seq.stamp, id)),
            Holder::Lane(_) => self.running.insert(id),
            Holder::Spoiled => self.spoiled.insert(id),
        };
    }
}

impl Seq {
    /// Nobody holds it any more.
    fn leave(&mut self, tree: &mut Tree) {
        if let Some(hold) = self.hold.take() {
            tree.release(hold);
        }
        self.holder = Holder::Nobody;
    }

    /// Nobody holds it any more, and what it held is gone.
    fn forget(&mut self, tree: &mut Tree) {
        self.leave(tree);
        self.root = false;
        self.len = 0;
        if let Some(entry) = self.entry.take() {
            // Its only receipt was given back above.
            let _ = tree.remove(entry);
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
