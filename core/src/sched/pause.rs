//! Jobs whose client takes nothing of what they say: they run no further until it does.
//!
//! A paused job keeps its lane as long as nobody else wants one. Then it is set aside: its state stays
//! where it is until somebody needs the sequence, and it goes on from there. It is as old as it was,
//! so that it takes the next free lane.

use super::JobId;
use super::scheduler::Scheduler;
use crate::time::Instant;

impl Scheduler {
    /// The job runs no further until it is [resumed](Self::resume). A token of the step in flight may
    /// still come. Returns whether this changed something.
    pub fn pause(&mut self, job: JobId, now: Instant) -> bool {
        self.clock.advance(now);
        if let Some(live) = self.queue.remove(job) {
            return self.aside.insert(job, live).is_none();
        }
        let lane = self.lanes.iter_mut().find(|lane| lane.live.id == job);
        lane.is_some_and(|lane| !core::mem::replace(&mut lane.paused, true))
    }

    /// The job goes on where it was. Returns whether this changed something.
    pub fn resume(&mut self, job: JobId, now: Instant) -> bool {
        let now = self.clock.advance(now);
        if let Some(mut live) = self.aside.remove(&job) {
            live.since = now;
            self.queue.push(live);
            self.note_urgency(job);
            return true;
        }
        let lane = self.lanes.iter_mut().find(|lane| lane.live.id == job);
        lane.is_some_and(|lane| core::mem::replace(&mut lane.paused, false))
    }

    /// Jobs that are paused, whether they have a lane or not.
    pub fn paused(&self) -> usize {
        self.aside.len() + self.lanes.iter().filter(|lane| lane.paused).count()
    }

    /// Whether there is nothing to run now: no step is in flight, and each job that lives is paused.
    pub fn is_resting(&self) -> bool {
        self.flight.is_none() && self.queue.is_empty() && self.lanes.iter().all(|lane| lane.paused)
    }

    /// Paused jobs leave their lanes to those that wait, and their cells to those that run.
    pub(super) fn set_aside(&mut self) {
        if self.queue.is_empty() && self.demand() <= self.pool() {
            return;
        }
        while let Some(at) = self.lanes.iter().position(|lane| lane.paused) {
            let lane = self.leave(at);
            self.seqs.release(lane.seq);
            self.aside.insert(lane.live.id, lane.live);
        }
    }
}
