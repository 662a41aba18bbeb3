//! The tree's entries.

use super::node::{Nodes, ROOT};
use crate::sched::Token;
use alloc::vec::Vec;

/// Names an entry while it is in the tree; the name of one that left is given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub(super) u32);

/// Where an entry's state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a sequence on the device.
    Device,
    /// Exported to host memory.
    Host,
    /// Parked on disk.
    Disk,
}

/// What an entry is to somebody who looks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// On the device, held by a lane: it can be copied only.
    Running,
    /// On the device.
    Kept,
    Host,
    Disk,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Running, Self::Kept, Self::Host, Self::Disk];
}

/// The receipt for a held entry; [`Tree::release`] takes it back.
#[must_use = "an entry stays held until its receipt is given back"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold(EntryId);

/// The entry is held, so it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the entry is held")]
pub struct Held;

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its tokens are those from the root to the end of this node.
    pub(super) node: u32,
    pub(super) place: Place,
    pub(super) tag: u32,
    pub(super) holds: u32,
}

impl Entry {
    pub(super) fn kind(&self) -> Kind {
        match self.place {
            Place::Device if self.holds > 0 => Kind::Running,
            Place::Device => Kind::Kept,
            Place::Host => Kind::Host,
            Place::Disk => Kind::Disk,
        }
    }
}

/// Held states by their tokens.
///
/// Finding walks the prompt once. Every change costs the tokens it is given, and beyond those a
/// logarithm for each node on the entry's path, as far up as what is best below a node changes.
///
/// Ids of entries that left are ignored by what changes the tree, and read as empty.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(super) nodes: Nodes,
    pub(super) entries: Vec<Option<Entry>>,
    pub(super) free: Vec<u32>,
}

impl Tree {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    // Getters.

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number its owner gave the entry.
    pub fn tag(&self, id: EntryId) -> Option<u32> {
        self.entry(id).map(|entry| entry.tag)
    }

    /// Where the entry's state is.
    pub fn place(&self, id: EntryId) -> Option<Place> {
        self.entry(id).map(|entry| entry.place)
    }

    /// Whether somebody holds the entry.
    pub fn is_held(&self, id: EntryId) -> bool {
        self.entry(id).is_some_and(|entry| entry.holds > 0)
    }

    /// How many tokens the entry's state holds.
    pub fn tokens_len(&self, id: EntryId) -> u32 {
        self.entry(id).map_or(0, |entry| self.nodes.get(entry.node).depth)
    }

    /// The entry's tokens, put together.
    pub fn tokens(&self, id: EntryId) -> Vec<Token> {
        self.entry(id).map(|entry| self.nodes.spell(entry.node)).unwrap_or_default()
    }

    /// Whether the entry's tokens are the first of `tokens`.
    pub fn is_head_of(&self, id: EntryId, tokens: &[Token]) -> bool {
        self.entry(id).is_some_and(|entry| self.nodes.is_head_of(entry.node, tokens))
    }

    /// Other entries with the same tokens.
    pub fn twins(&self, id: EntryId) -> impl Iterator<Item = EntryId> {
        let here = self.entry(id).map(|entry| self.nodes.get(entry.node).here.as_slice());
        here.unwrap_or_default().iter().copied().map(EntryId).filter(move |&twin| twin != id)
    }

    /// Whether another entry that no lane runs on, on the device or in host memory, has all tokens of
    /// this one.
    pub fn is_covered(&self, id: EntryId) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        let node = self.nodes.get(entry.node);
        let below = |kind| node.index.range((kind, 0, 0)..).take_while(move |(other, ..)| *other == kind);
        below(Kind::Kept).chain(below(Kind::Host)).any(|&(.., other)| other != id.0)
    }

    /// Entries somewhere that have fewer tokens than this one, and none it does not have.
    pub fn heads(&self, id: EntryId, place: Place) -> Vec<EntryId> {
        let mut heads = Vec::new();
        let mut at = self.entry(id).map_or(ROOT, |entry| self.nodes.get(entry.node).parent);
        while at != ROOT {
            let here = self.nodes.get(at).here.iter().copied().map(EntryId);
            heads.extend(here.filter(|&head| self.place(head) == Some(place)));
            at = self.nodes.get(at).parent;
        }
        heads
    }

    /// Bytes of memory it takes, bookkeeping included.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.entries.capacity() * size_of::<Option<Entry>>()
            + self.free.capacity() * size_of::<u32>()
    }

    // Verbs.

    /// Adds an entry that nobody holds; others may have the same tokens. `tag` is its owner's.
    pub fn insert(&mut self, tokens: &[Token], place: Place, tag: u32) -> EntryId {
        let node = self.nodes.reach(ROOT, tokens);
        self.add(Entry { node, place, tag, holds: 0 })
    }

    /// Adds an entry with the first `len` tokens of another, or with all it has.
    pub fn fork(&mut self, of: EntryId, len: u32, place: Place, tag: u32) -> EntryId {
        let node = self.entry(of).map_or(ROOT, |entry| entry.node);
        let node = self.nodes.above(node, len);
        self.add(Entry { node, place, tag, holds: 0 })
    }

    /// Takes an entry out.
    ///
    /// # Errors
    ///
    /// [`Held`], and it stays, while anybody holds it.
    pub fn remove(&mut self, id: EntryId) -> Result<(), Held> {
        let Some(entry) = self.entry(id) else { return Ok(()) };
        if entry.holds > 0 {
            return Err(Held);
        }
        let node = entry.node;
        self.unlink(id);
        self.entries[id.0 as usize] = None;
        self.free.push(id.0);
        self.nodes.prune(node);
        Ok(())
    }

    /// The entry's state has grown by these tokens.
    pub fn extend(&mut self, id: EntryId, tokens: &[Token]) {
        let Some(entry) = self.entry(id) else { return };
        let from = entry.node;
        if self.nodes.is_own_leaf(from) {
            // A running entry's rank does not change as it grows.
            let ranked = entry.kind() != Kind::Running;
            if ranked {
                self.unlink(id);
            }
            self.nodes.grow(from, tokens);
            if ranked {
                self.link(id);
            }
        } else {
            let to = self.nodes.reach(from, tokens);
            self.relocate(id, to);
        }
    }

    /// The entry's state was cut to its first `len` tokens.
    pub fn truncate(&mut self, id: EntryId, len: u32) {
        let Some(entry) = self.entry(id) else { return };
        let to = self.nodes.above(entry.node, len);
        self.relocate(id, to);
    }

    /// Holds an entry: it is not removed before the receipt is given back. One on the device is a
    /// running lane's then.
    pub fn hold(&mut self, id: EntryId) -> Hold {
        self.rank(id, |entry| entry.holds += 1);
        Hold(id)
    }

    /// Gives a receipt back.
    #[expect(clippy::needless_pass_by_value, reason = "the receipt is used up")]
    pub fn release(&mut self, hold: Hold) {
        let Hold(id) = hold;
        self.rank(id, |entry| entry.holds = entry.holds.saturating_sub(1));
        if let Some(entry) = self.entry(id) {
            self.nodes.shrink(entry.node);
        }
    }

    /// The entry's state has moved.
    pub fn relocated(&mut self, id: EntryId, place: Place, tag: u32) {
        self.rank(id, |entry| {
            entry.place = place;
            entry.tag = tag;
        });
    }

    pub(super) fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.0 as usize)?.as_ref()
    }

    fn add(&mut self, entry: Entry) -> EntryId {
        let id = if let Some(free) = self.free.pop() {
            self.entries[free as usize] = Some(entry);
            free
        } else {
            self.entries.push(Some(entry));
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        };
        self.link(EntryId(id));
        EntryId(id)
    }

    fn relocate(&mut self, id: EntryId, to: u32) {
        let Some(from) = self.entry(id).map(|entry| entry.node) else { return };
        if from == to {
            return;
        }
        self.unlink(id);
        if let Some(entry) = &mut self.entries[id.0 as usize] {
            entry.node = to;
        }
        self.link(id);
        self.nodes.prune(from);
    }

    /// Changes what decides an entry's kind.
    fn rank(&mut self, id: EntryId, change: impl FnOnce(&mut Entry)) {
        if self.entry(id).is_none() {
            return;
        }
        self.unlink(id);
        if let Some(entry) = &mut self.entries[id.0 as usize] {
            change(entry);
        }
        self.link(id);
    }

    fn link(&mut self, id: EntryId) {
        if let Some(entry) = self.entry(id) {
            let (node, kind) = (entry.node, entry.kind());
            self.nodes.link(node, kind, id.0);
        }
    }

    fn unlink(&mut self, id: EntryId) {
        if let Some(entry) = self.entry(id) {
            let (node, kind) = (entry.node, entry.kind());
            self.nodes.unlink(node, kind, id.0);
        }
    }
}
