//! Jobs that wait for a lane: one FIFO a class, the higher class first, with age.
//!
//! A job of rank r (interactive 0, agent 1, background 2) stands as if it had come `r × age_after`
//! later as an interactive one. So it is overtaken only by jobs submitted within `r × age_after`
//! after it: from then on nothing new goes before it, whatever its class.

use super::live::Live;
use super::{Class, JobId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The waiting jobs. All operations are logarithmic.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// By submission order, which within a class is the order of keys.
    classes: [BTreeMap<u64, Live>; 3],
    index: BTreeMap<JobId, (Class, u64)>,
}

impl Queue {
    pub(super) fn len(&self, class: Class) -> usize {
        self.classes[class as usize].len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    pub(super) fn contains(&self, id: JobId) -> bool {
        self.index.contains_key(&id)
    }

    /// Adds a new job, or one that lost its lane: it stands where it stood.
    pub(super) fn push(&mut self, live: Live) {
        self.index.insert(live.id, (live.class, live.order));
        self.classes[live.class as usize].insert(live.order, live);
    }

    /// Who is next.
    pub(super) fn peek(&self) -> Option<&Live> {
        self.classes.iter().filter_map(|class| class.values().next()).min_by_key(|live| live.key)
    }

    /// The next `count`, in their order, with at most so many of each class.
    pub(super) fn next(&self, count: usize, most: [usize; 3]) -> Vec<JobId> {
        let classes = self.classes.iter().zip(most);
        let first = classes.flat_map(|(class, most)| class.values().take(most.min(count)));
        let mut keys: Vec<_> = first.map(|live| (live.key, live.id)).collect();
        keys.sort_unstable();
        keys.into_iter().take(count).map(|(_, id)| id).collect()
    }

    /// The first `count` of a class, in their order.
    pub(super) fn first(&self, class: Class, count: usize) -> Vec<JobId> {
        self.classes[class as usize].values().take(count).map(|live| live.id).collect()
    }

    pub(super) fn get(&self, id: JobId) -> Option<&Live> {
        let (class, order) = self.index.get(&id)?;
        self.classes[*class as usize].get(order)
    }

    /// Takes who is next.
    pub(super) fn pop(&mut self) -> Option<Live> {
        let id = self.peek()?.id;
        self.remove(id)
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Live> {
        let (class, order) = self.index.remove(&id)?;
        self.classes[class as usize].remove(&order)
    }

    /// Empties it in the order the jobs would have been taken.
    pub(super) fn drain(&mut self) -> Vec<Live> {
        core::iter::from_fn(|| self.pop()).collect()
    }

    /// All waiting jobs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Live> {
        self.classes.iter().flat_map(BTreeMap::values)
    }

    /// Whether the index and the classes say the same.
    pub(super) fn is_sound(&self) -> bool {
        self.index.len() == self.classes.iter().map(BTreeMap::len).sum::<usize>()
            && self.iter().all(|live| self.index.get(&live.id) == Some(&(live.class, live.order)))
    }
}
