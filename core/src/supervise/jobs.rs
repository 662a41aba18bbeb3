//! The jobs that have not ended. Each keeps what a successor needs to go on with it, in its `Submit`:
//! the input, the seed, the tokens generated so far and what the client has of them.

use crate::sched::{Class, JobId};
use crate::time::Instant;
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

/// What the last death says about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It was not with the worker that died.
    New,
    /// It was, and has brought nothing since: it may have been the cause.
    Suspect,
    /// It was, and a later worker has gone on with it.
    Continued,
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) submit: Submit,
    pub(super) place: Place,
    pub(super) trust: Trust,
    /// Whether the present worker brought something of it.
    pub(super) proven: bool,
    /// Whether the client knows that it was accepted.
    pub(super) accepted: bool,
    /// Whether its client has too much to take before it goes on.
    pub(super) paused: bool,
    /// Deaths with it that were not laid to another job.
    pub(super) unexplained: u32,
    /// When it must be over.
    pub(super) deadline: Option<Instant>,
    /// Whether its client knows of its end; only the worker still has to let go of it.
    pub(super) told: bool,
}

impl Entry {
    /// Whether it waits to be tried again. One that would run no further would show nothing.
    pub(super) fn could_be_tried(&self) -> bool {
        self.place == Place::Held && self.trust == Trust::Suspect && !self.paused
    }
}

/// By id; ids grow, so this is the order of submission too.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs(BTreeMap<JobId, Entry>);

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many there are of a class.
    pub(super) fn of(&self, class: Class) -> usize {
        self.iter().filter(|job| job.submit.class == class).count()
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

    pub(super) fn insert(&mut self, submit: Submit) {
        self.0.insert(
            submit.id,
            Entry {
                submit,
                place: Place::Held,
                trust: Trust::New,
                proven: false,
                accepted: false,
                paused: false,
                unexplained: 0,
                deadline: None,
                told: false,
            },
        );
    }

    /// Takes a job back from a worker that died with it.
    pub(super) fn put_back(&mut self, mut job: Entry) {
        job.place = Place::Held;
        job.trust = Trust::Suspect;
        job.proven = false;
        self.0.insert(job.submit.id, job);
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

    /// Whether the present worker has a job that may have been its predecessor's end.
    pub(super) fn is_on_trial(&self) -> bool {
        self.iter().any(|job| job.place != Place::Held && job.trust == Trust::Suspect)
    }

    /// The most urgent class of those that wait for their turn to be tried.
    pub(super) fn tried_next(&self) -> Option<Class> {
        self.iter().filter(|job| job.could_be_tried()).map(|job| job.submit.class).min()
    }

    /// Whether a job that no worker died with waits to be given.
    pub(super) fn new_waits(&self) -> bool {
        self.iter().any(|job| job.place == Place::Held && job.trust == Trust::New)
    }

    /// Whether the present worker has a job that it, and no worker before it, could die of: would it
    /// die now, a job on trial beside it would not be known to be the cause.
    pub(super) fn has_unproven(&self) -> bool {
        self.iter().any(|job| job.place != Place::Held && job.trust == Trust::New && !job.proven)
    }

    /// Jobs the present worker has.
    pub(super) fn with_worker(&self) -> usize {
        self.iter().filter(|job| job.place != Place::Held).count()
    }

    /// Takes out every job for which `pick` is true, in order.
    pub(super) fn take(&mut self, pick: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let ids: Vec<JobId> = self.0.iter().filter(|(_, e)| pick(e)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.0.remove(&id)).collect()
    }
}
