//! Clients that take nothing of what their jobs say: those jobs are paused, so that no text piles up
//! and no lane works for nobody.

use super::super::jobs::Place;
use super::Supervisor;
use crate::sched::JobId;
use crate::time::Instant;
use crate::wire::ToWorker;

impl Supervisor {
    /// So many bytes (see [`JobUpdate::bytes`](crate::wire::JobUpdate::bytes)) of the job's updates
    /// wait for its client; call it when that changed. An id that is not known changes nothing.
    pub fn handle_backlog(&mut self, id: JobId, bytes: u64, now: Instant) {
        self.clock.advance(now);
        let most = self.config.backlog_max;
        let Some(job) = self.jobs.get_mut(id) else { return };
        let paused = if job.paused { bytes > most / 2 } else { bytes > most };
        if core::mem::replace(&mut job.paused, paused) == paused {
            return;
        }
        match job.place {
            Place::Worker if paused => self.sends.push_back(ToWorker::Pause { id }),
            Place::Worker => self.sends.push_back(ToWorker::Resume { id }),
            Place::Held => self.give(),
            Place::Cancelling => {}
        }
    }

    /// Bytes above which a job's backlog has it paused.
    pub fn backlog_max(&self) -> u64 {
        self.config.backlog_max
    }
}
