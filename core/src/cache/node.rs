//! Nodes: runs of tokens between the places where entries end or part.

use super::tree::Kind;
use crate::sched::Token;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use smallvec::SmallVec;

/// The node of no tokens. It has no index: to share nothing with an entry helps nobody.
pub(super) const ROOT: u32 = 0;

/// Rank and number of an entry.
pub(super) type Best = (u32, u32);

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) parent: u32,
    /// Tokens from the root to its end.
    pub(super) depth: u32,
    /// Its tokens; none for the root only.
    pub(super) label: Vec<Token>,
    /// By the first token of each.
    pub(super) children: BTreeMap<Token, u32>,
    /// Entries that end here.
    pub(super) here: SmallVec<[u32; 4]>,
    /// By kind: each entry that ends here, and the best one below each child.
    pub(super) index: BTreeSet<(Kind, u32, u32)>,
}

impl Node {
    /// Of the entries of a kind at or below it the shortest, then the one with the lowest number.
    pub(super) fn best(&self, kind: Kind) -> Option<Best> {
        let first = self.index.range((kind, 0, 0)..).next();
        first.filter(|(found, ..)| *found == kind).map(|&(_, rank, entry)| (rank, entry))
    }
}

/// All nodes; some are free.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    pub(super) free: Vec<u32>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self { all: Vec::from([Node::default()]), free: Vec::new() }
    }
}

/// How many tokens both begin with.
pub(crate) fn common(a: &[Token], b: &[Token]) -> usize {
    // Whole blocks are compared at the speed of memory.
    let blocks = a.chunks_exact(64).zip(b.chunks_exact(64)).take_while(|(a, b)| a == b).count() * 64;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

impl Nodes {
    pub(super) fn get(&self, at: u32) -> &Node {
        &self.all[at as usize]
    }

    fn get_mut(&mut self, at: u32) -> &mut Node {
        &mut self.all[at as usize]
    }

    /// Tokens from the root to the node's end.
    pub(super) fn spell(&self, mut at: u32) -> Vec<Token> {
        let mut path = Vec::new();
        while at != ROOT {
            path.push(at);
            at = self.get(at).parent;
        }
        path.into_iter().rev().flat_map(|at| self.get(at).label.iter().copied()).collect()
    }

    pub(super) fn is_head_of(&self, mut at: u32, tokens: &[Token]) -> bool {
        while at != ROOT {
            let node = self.get(at);
            let (start, end) = (node.depth as usize - node.label.len(), node.depth as usize);
            if tokens.get(start..end) != Some(&node.label[..]) {
                return false;
            }
            at = node.parent;
        }
        true
    }

    /// Whether one entry ends here and nothing lies below.
    pub(super) fn is_own_leaf(&self, at: u32) -> bool {
        let node = self.get(at);
        at != ROOT && node.children.is_empty() && node.here.len() == 1
    }

    /// Makes a leaf longer.
    pub(super) fn grow(&mut self, at: u32, tokens: &[Token]) {
        let node = self.get_mut(at);
        node.label.extend_from_slice(tokens);
        node.depth += tokens.len() as u32;
    }

    /// Gives memory back that a leaf would have grown into.
    pub(super) fn shrink(&mut self, at: u32) {
        self.get_mut(at).label.shrink_to_fit();
    }

    /// The node that ends `tokens` below `at`; made where there is none.
    pub(super) fn reach(&mut self, mut at: u32, mut tokens: &[Token]) -> u32 {
        while let Some(&first) = tokens.first() {
            let Some(&child) = self.get(at).children.get(&first) else {
                let depth = self.get(at).depth + tokens.len() as u32;
                let leaf = Node { parent: at, depth, label: tokens.to_vec(), ..Node::default() };
                let leaf = self.add(leaf);
                self.get_mut(at).children.insert(first, leaf);
                return leaf;
            };
            let same = common(&self.get(child).label, tokens);
            at = if same < self.get(child).label.len() { self.split(child, same) } else { child };
            tokens = &tokens[same..];
        }
        at
    }

    /// The node on the way to `at` that ends after `len` tokens; made where there is none. `at` itself
    /// where that is no longer.
    pub(super) fn above(&mut self, mut at: u32, len: u32) -> u32 {
        while at != ROOT && self.get(self.get(at).parent).depth >= len {
            at = self.get(at).parent;
        }
        let node = self.get(at);
        if node.depth <= len {
            return at;
        }
        let start = node.depth as usize - node.label.len();
        self.split(at, len as usize - start)
    }

    /// Cuts a node in two; the upper one, which ends after `keep` of its tokens.
    fn split(&mut self, at: u32, keep: usize) -> u32 {
        let node = self.get_mut(at);
        let label: Vec<Token> = node.label.drain(..keep).collect();
        if node.label.capacity() > 2 * node.label.len() {
            node.label.shrink_to_fit();
        }
        let (parent, first, rest) = (node.parent, label[0], node.label[0]);
        let best = Kind::ALL.into_iter().filter_map(|kind| node.best(kind).map(|(r, e)| (kind, r, e)));
        let upper = Node {
            parent,
            depth: node.depth - node.label.len() as u32,
            label,
            children: BTreeMap::from([(rest, at)]),
            index: best.collect(),
            ..Node::default()
        };
        let upper = self.add(upper);
        self.get_mut(at).parent = upper;
        self.get_mut(parent).children.insert(first, upper);
        upper
    }

    /// Takes away what no entry needs any more, from `at` upwards.
    pub(super) fn prune(&mut self, mut at: u32) {
        while at != ROOT && self.get(at).here.is_empty() {
            let node = self.get(at);
            match node.children.len() {
                0 => {
                    let (parent, first) = (node.parent, node.label[0]);
                    self.get_mut(parent).children.remove(&first);
                    self.drop_node(at);
                    at = parent;
                }
                1 => return self.join(at),
                _ => return,
            }
        }
    }

    /// Puts a node and its only child together.
    fn join(&mut self, at: u32) {
        let node = core::mem::take(self.get_mut(at));
        let Some(&child) = node.children.values().next() else { return };
        let (first, mut label) = (node.label[0], node.label);
        label.append(&mut self.get_mut(child).label);
        let lower = self.get_mut(child);
        lower.label = label;
        lower.parent = node.parent;
        self.get_mut(node.parent).children.insert(first, child);
        self.free.push(at);
    }

    fn add(&mut self, node: Node) -> u32 {
        if let Some(free) = self.free.pop() {
            self.all[free as usize] = node;
            return free;
        }
        self.all.push(node);
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    fn drop_node(&mut self, at: u32) {
        *self.get_mut(at) = Node::default();
        self.free.push(at);
    }

    /// An entry ends here.
    pub(super) fn link(&mut self, at: u32, kind: Kind, entry: u32) {
        if at != ROOT {
            self.get_mut(at).here.push(entry);
            let rank = self.rank(at, kind);
            self.index(at, kind, None, Some((rank, entry)));
        }
    }

    /// An entry does not end here any more.
    pub(super) fn unlink(&mut self, at: u32, kind: Kind, entry: u32) {
        if at != ROOT {
            self.get_mut(at).here.retain(|other| *other != entry);
            let rank = self.rank(at, kind);
            self.index(at, kind, Some((rank, entry)), None);
        }
    }

    /// Short entries are the first to be taken over; of running ones, which grow, none is.
    fn rank(&self, at: u32, kind: Kind) -> u32 {
        if kind == Kind::Running { 0 } else { self.get(at).depth }
    }

    /// Changes a node's index, and those above as far as the best below them changes.
    fn index(&mut self, mut at: u32, kind: Kind, mut old: Option<Best>, mut new: Option<Best>) {
        while at != ROOT {
            let node = self.get_mut(at);
            let before = node.best(kind);
            if let Some((rank, entry)) = old {
                node.index.remove(&(kind, rank, entry));
            }
            if let Some((rank, entry)) = new {
                node.index.insert((kind, rank, entry));
            }
            let after = node.best(kind);
            if before == after {
                return;
            }
            (old, new, at) = (before, after, node.parent);
        }
    }

    /// Bytes of memory all nodes take; of trees, a likely number.
    pub(super) fn bytes(&self) -> usize {
        // A B-tree's leaf has room for 11 keys and values, and is at least half full in a large tree.
        let tree = |len: usize, each: usize| len.div_ceil(6) * usize::from(len > 0) * (11 * each + 16);
        let node = |node: &Node| {
            node.label.capacity() * size_of::<Token>()
                + tree(node.children.len(), size_of::<(Token, u32)>())
                + tree(node.index.len(), size_of::<(Kind, u32, u32)>())
        };
        self.all.iter().map(node).sum::<usize>() + self.all.capacity() * size_of::<Node>()
    }
}
