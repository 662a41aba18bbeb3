//! What host memory holds of states that left the device.
//!
//! A state is exported when its sequence is given to somebody else, and stays within the bounds the
//! runtime gives; the one used longest ago goes first. It is only ever a copy: losing it costs time.

use super::seqs::Seqs;
use super::{Config, Cut, SeqId, SeqOp, StateId};
use crate::cache::{EntryId, Place};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// All states in host memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    states: BTreeMap<StateId, State>,
    /// Least recently used first.
    ages: BTreeSet<(u64, StateId)>,
    bytes: u64,
    last: StateId,
}

#[derive(Clone, Copy, Debug)]
struct State {
    entry: EntryId,
    bytes: u64,
    stamp: u64,
}

impl Shelf {
    /// Bytes all states take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    fn add(&mut self, id: StateId, state: State) {
        self.bytes += state.bytes;
        self.ages.insert((state.stamp, id));
        self.states.insert(id, state);
    }

    fn take(&mut self, id: StateId) -> Option<State> {
        let state = self.states.remove(&id)?;
        self.bytes -= state.bytes;
        self.ages.remove(&(state.stamp, id));
        Some(state)
    }
}

impl Seqs {
    /// Clears a sequence; what it holds is saved where that pays.
    pub(super) fn give_up(&mut self, id: SeqId, config: &Config, ops: &mut Vec<SeqOp>) {
        self.save(id, config, ops);
        self.clear(id, ops);
    }

    /// Exports what a sequence holds, if it is worth it, not kept elsewhere, and there is room.
    pub(super) fn save(&mut self, seq: SeqId, config: &Config, ops: &mut Vec<SeqOp>) {
        let (len, keeping) = (self.get(seq).len() as u32, config.engine.keeping);
        let bytes = keeping.state(len);
        let Some(entry) = self.get(seq).entry else { return };
        let worth = keeping.exports() && len >= config.save_from && bytes <= keeping.host_bytes;
        if !worth || self.is_elsewhere(entry, config.engine.cut) {
            return;
        }
        if config.engine.cut == Cut::Anywhere {
            // What is cut from this one need not be kept beside it.
            for head in self.tree.heads(entry, Place::Host) {
                self.drop_state(head, ops);
            }
        }
        while self.shelf.bytes + bytes > keeping.host_bytes {
            if !self.drop_oldest(ops) {
                return;
            }
        }
        self.shelf.last = StateId(self.shelf.last.0 + 1);
        let state = self.shelf.last;
        ops.push(SeqOp::Export { seq, state, len });
        let entry = self.tree.fork(entry, len, Place::Host, state.0);
        let stamp = self.tick();
        self.shelf.add(state, State { entry, bytes, stamp });
    }

    /// Makes a blank sequence hold a state.
    pub(super) fn import(&mut self, state: StateId, seq: SeqId, ops: &mut Vec<SeqOp>) {
        let stamp = self.tick();
        let Some(mut found) = self.shelf.take(state) else { return };
        found.stamp = stamp;
        self.shelf.add(state, found);
        let len = self.tree.tokens_len(found.entry);
        ops.push(SeqOp::Import { state, seq, len });
        self.fill(seq, found.entry, len);
    }

    /// Tokens a state holds.
    pub(super) fn state_len(&self, state: StateId) -> u32 {
        self.shelf.states.get(&state).map_or(0, |state| self.tree.tokens_len(state.entry))
    }

    /// Does `what` without losing the state meanwhile.
    pub(super) fn holding<T>(&mut self, state: StateId, what: impl FnOnce(&mut Self) -> T) -> T {
        let hold = self.shelf.states.get(&state).map(|state| state.entry).map(|entry| self.tree.hold(entry));
        let done = what(self);
        if let Some(hold) = hold {
            self.tree.release(hold);
        }
        done
    }

    /// A state is no more.
    pub(super) fn lost(&mut self, state: StateId) {
        if let Some(state) = self.shelf.take(state) {
            // Held only while a step is planned.
            let _ = self.tree.remove(state.entry);
        }
    }

    /// Whether the entry's tokens can be had from another that nobody needs to copy from a lane.
    fn is_elsewhere(&self, entry: EntryId, cut: Cut) -> bool {
        match cut {
            Cut::Anywhere => self.tree.is_covered(entry),
            Cut::HeadOnly => self.tree.twins(entry).any(|twin| {
                self.tree.place(twin) == Some(Place::Host)
                    || self.tree.place(twin) == Some(Place::Device) && !self.tree.is_held(twin)
            }),
        }
    }

    /// Drops the state used longest ago of those not in use now. Whether there was one.
    fn drop_oldest(&mut self, ops: &mut Vec<SeqOp>) -> bool {
        let entry = |id: &StateId| self.shelf.states.get(id).map(|state| state.entry);
        let free = self.shelf.ages.iter().filter_map(|(_, id)| entry(id));
        let oldest = free.into_iter().find(|&entry| !self.tree.is_held(entry));
        oldest.is_some_and(|entry| self.drop_state(entry, ops))
    }

    fn drop_state(&mut self, entry: EntryId, ops: &mut Vec<SeqOp>) -> bool {
        let Some(tag) = self.tree.tag(entry) else { return false };
        if self.tree.remove(entry).is_err() {
            return false;
        }
        let state = StateId(tag);
        ops.push(SeqOp::Drop { state });
        self.shelf.take(state).is_some()
    }

    /// Whether the shelf says what the tree says.
    pub(super) fn shelf_is_sound(&self) -> bool {
        let all = || self.shelf.states.iter();
        self.shelf.bytes == all().map(|(_, state)| state.bytes).sum::<u64>()
            && self.shelf.ages == all().map(|(&id, state)| (state.stamp, id)).collect()
            && all().all(|(id, state)| {
                self.tree.place(state.entry) == Some(Place::Host) && self.tree.tag(state.entry) == Some(id.0)
            })
            && all().all(|(_, state)| !self.tree.is_held(state.entry))
    }
}
