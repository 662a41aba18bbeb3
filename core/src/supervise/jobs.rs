//! The jobs that have not ended. Each keeps what a successor would need to go on with it: the
//! input and seed (in its `Submit`) and the tokens generated so far.

use crate::sched::{JobId, Token};
use crate::wire::Submit;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Waits for a worker that is ready.
    Held,
    /// The present worker has it.
    Worker,
    /// The present worker has it and was told to give it up.
    Cancelling,
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) submit: Submit,
    pub(super) place: Place,
    /// Generated so far, `submit.committed` not included.
    pub(super) tokens: Vec<Token>,
}

/// By id; ids grow, so this is the order of submission too.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs(BTreeMap<JobId, Entry>);

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut Entry> {
        self.0.get_mut(&id)
    }

    pub(super) fn get(&self, id: JobId) -> Option<&Entry> {
        self.0.get(&id)
    }

    pub(super) fn insert(&mut self, submit: Submit, place: Place) {
        self.0.insert(submit.id, Entry { submit, place, tokens: Vec::new() });
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Entry> {
        self.0.remove(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.0.values_mut()
    }

    /// Takes out every job for which `pick` is true, in order.
    pub(super) fn take(&mut self, pick: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let ids: Vec<JobId> = self.0.iter().filter(|(_, e)| pick(e)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.0.remove(&id)).collect()
    }
}
