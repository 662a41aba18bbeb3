//! What must hold between any two calls.

use super::node::ROOT;
use super::tree::{Kind, Tree};
use crate::machine::Broken;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

impl Tree {
    /// Checks what must hold between any two calls.
    ///
    /// # Errors
    ///
    /// The first thing found broken; always a bug in core.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        let fail = |at: u32, what: &str| Err(Broken(format!("node {at}: {what}")));
        let mut seen = 0;
        let mut rest = Vec::from([ROOT]);
        while let Some(at) = rest.pop() {
            seen += 1;
            let node = self.nodes.get(at);
            if at != ROOT && node.here.is_empty() && node.children.len() < 2 {
                return fail(at, "no entry needs it");
            }
            let mut index = BTreeSet::new();
            for &entry in &node.here {
                let Some(entry_) = self.entries.get(entry as usize).and_then(Option::as_ref) else {
                    return fail(at, "an entry that is gone ends here");
                };
                if entry_.node != at {
                    return fail(at, "an entry ends elsewhere");
                }
                let kind = entry_.kind();
                index.insert((kind, if kind == Kind::Running { 0 } else { node.depth }, entry));
            }
            for (&first, &child) in &node.children {
                let below = self.nodes.get(child);
                if below.parent != at || below.label.first() != Some(&first) {
                    return fail(child, "it is not where its parent says");
                }
                if below.depth as usize != node.depth as usize + below.label.len() {
                    return fail(child, "its depth is not its parent's and its own tokens'");
                }
                index.extend(
                    Kind::ALL
                        .into_iter()
                        .filter_map(|kind| below.best(kind).map(|(rank, entry)| (kind, rank, entry))),
                );
                rest.push(child);
            }
            if at != ROOT && index != node.index {
                return fail(at, "its index is not what lies below it");
            }
        }
        if seen + self.nodes.free.len() != self.nodes.all.len() {
            return fail(ROOT, "nodes were lost");
        }
        let lost = self.entries.iter().enumerate().find(|(at, entry)| {
            entry.as_ref().is_some_and(|entry| {
                entry.node != ROOT && !self.nodes.get(entry.node).here.contains(&(*at as u32))
            })
        });
        match lost {
            Some((at, _)) => Err(Broken(format!("entry {at} is not in its node"))),
            None => Ok(()),
        }
    }
}
