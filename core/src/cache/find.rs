//! The one walk along a prompt.

use super::node::{Node, ROOT, common};
use super::tree::{EntryId, Kind, Tree};
use crate::sched::{Cut, Token};

/// An entry that begins like a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Which.
    pub entry: EntryId,
    /// Tokens of it that the prompt can use; at least one.
    pub shared: u32,
}

/// What begins like a prompt: of each kind the entry that shares most, of those the shortest, then
/// the one with the lowest id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// On the device, held by a lane. Of several that share as much the one with the lowest id.
    pub running: Option<Match>,
    /// On the device, held by nobody.
    pub kept: Option<Match>,
    /// In host memory.
    pub host: Option<Match>,
    /// On disk.
    pub disk: Option<Match>,
}

impl Found {
    fn set(&mut self, kind: Kind, found: Match) {
        let slot = match kind {
            Kind::Running => &mut self.running,
            Kind::Kept => &mut self.kept,
            Kind::Host => &mut self.host,
            Kind::Disk => &mut self.disk,
        };
        *slot = Some(found);
    }
}

impl Tree {
    /// Looks for what begins like `tokens`. Where states are used whole (`Cut::HeadOnly`), for what
    /// is a head of them.
    pub fn find(&self, tokens: &[Token], cut: Cut) -> Found {
        let mut found = Found::default();
        let (mut at, mut shared) = (ROOT, 0);
        while let Some(child) = tokens.get(shared).and_then(|first| self.nodes.get(at).children.get(first)) {
            let node = self.nodes.get(*child);
            let same = common(&node.label, &tokens[shared..]);
            shared += same;
            let whole = same == node.label.len();
            match cut {
                Cut::Anywhere => below(node, shared as u32, &mut found),
                Cut::HeadOnly if whole => self.at_end(node, &mut found),
                Cut::HeadOnly => {}
            }
            if !whole {
                break;
            }
            at = *child;
        }
        found
    }

    fn at_end(&self, node: &Node, found: &mut Found) {
        for kind in Kind::ALL {
            let here = node.here.iter().copied().map(EntryId);
            let same = here.filter(|&id| self.entry(id).is_some_and(|entry| entry.kind() == kind));
            if let Some(entry) = same.min() {
                found.set(kind, Match { entry, shared: node.depth });
            }
        }
    }
}

/// All entries below a node share as much with a prompt that parts in it or right behind it; one
/// further down shares more.
fn below(node: &Node, shared: u32, found: &mut Found) {
    for kind in Kind::ALL {
        if let Some((_, entry)) = node.best(kind) {
            found.set(kind, Match { entry: EntryId(entry), shared });
        }
    }
}
