//! What each frame means in each state.

use super::super::event::Event;
use super::super::jobs::{Place, Trust};
use super::super::reason::{self, During};
use super::{Ping, State, Supervisor};
use crate::sched::{Finish, JobId};
use crate::time::Instant;
use crate::wire::{JobUpdate, Loaded, PROTOCOL, ToDaemon, ToWorker};
use alloc::boxed::Box;

impl Supervisor {
    pub(super) fn hello_frame(&mut self, frame: ToDaemon, now: Instant) {
        match frame {
            ToDaemon::Hello { protocol, runtime, version } => {
                if protocol != PROTOCOL {
                    let why = reason::protocol(&self.runtime, &version, protocol);
                    self.kill(Some(why), During::Handshake);
                } else if runtime != self.runtime {
                    let why = reason::wrong_runtime(&self.runtime, &runtime);
                    self.kill(Some(why), During::Handshake);
                } else {
                    self.state = State::Loading { deadline: now + self.config.load_stall, permille: 0 };
                    self.sends.push_back(ToWorker::Load(self.spec.clone()));
                    self.events.push_back(Event::Met { version });
                }
            }
            ToDaemon::Fatal(why) => self.leaving(why, During::Handshake, now),
            _ => self.violated("a frame before its hello", During::Handshake),
        }
    }

    pub(super) fn loading_frame(&mut self, frame: ToDaemon, now: Instant) {
        match frame {
            ToDaemon::Progress { permille } => {
                let permille = permille.min(1000);
                self.state = State::Loading { deadline: now + self.config.load_stall, permille };
                self.events.push_back(Event::Progress { permille });
            }
            ToDaemon::Loaded(loaded) => self.ready(Box::new(loaded), now),
            ToDaemon::LoadFailed(why) | ToDaemon::Fatal(why) => self.leaving(why, During::Load, now),
            ToDaemon::Pong { .. } => {}
            _ => self.violated("a frame about jobs or a second hello while loading", During::Load),
        }
    }

    fn ready(&mut self, loaded: Box<Loaded>, now: Instant) {
        self.loaded = Some(loaded.clone());
        self.state = State::Ready { since: now, ping: Ping::Due(now + self.config.ping_every) };
        self.events.push_back(Event::Ready(loaded));
        self.passed = true;
        self.give();
    }

    /// Gives the worker what it may have of the held jobs. Those that may have been its predecessor's
    /// end are tried one at a time, only onto a free lane and beside jobs that have gone on: should the
    /// worker die again, it is known which of them it was.
    ///
    /// They hold nobody else up: a job that no worker died with waits for [`Config::trial`] of one trial
    /// at most. Then it may go, and so may one between two trials, and each that is more urgent than
    /// all that are still to be tried.
    ///
    /// [`Config::trial`]: super::Config::trial
    pub(super) fn give(&mut self) {
        if !matches!(self.state, State::Ready { .. }) || self.tries_alone() {
            return;
        }
        let trying = self.jobs.is_on_trial();
        let turn = self.passed || !self.jobs.new_waits();
        if !trying && turn && self.jobs.with_worker() < self.lanes() && !self.jobs.has_unproven() {
            let mut jobs = self.jobs.iter_mut();
            if let Some(job) = jobs.find(|job| job.could_be_tried()) {
                job.place = Place::Worker;
                self.sends.push_back(ToWorker::Submit(job.submit.clone()));
                self.trial = Some(self.clock.now() + self.config.trial);
                self.passed = false;
                return;
            }
        }
        let next = self.jobs.tried_next().filter(|_| !trying);
        for job in self.jobs.iter_mut().filter(|job| job.place == Place::Held && job.trust == Trust::New) {
            if next.is_none_or(|next| job.submit.class < next) || !core::mem::replace(&mut self.passed, true)
            {
                job.place = Place::Worker;
                self.sends.push_back(ToWorker::Submit(job.submit.clone()));
            }
        }
    }

    pub(super) fn ready_frame(&mut self, frame: ToDaemon, now: Instant) {
        // Whatever it says, it lives.
        if let State::Ready { ping: Ping::Awaited { .. } | Ping::Missed { .. }, .. } = self.state {
            let until = now + self.config.ping_patience;
            self.set_ping(Ping::Awaited { until, silent_at: now + self.config.idle_patience });
        }
        match frame {
            ToDaemon::Updates { jobs } => {
                for update in jobs {
                    if !self.update(update) {
                        return self.violated("more tokens than a context holds", During::Serving);
                    }
                }
                self.give();
            }
            ToDaemon::Accepted { id, prompt_tokens } => {
                if let Some(job) = self.jobs.get_mut(id)
                    && job.place != Place::Held
                    && !job.told
                    && !core::mem::replace(&mut job.accepted, true)
                {
                    self.events.push_back(Event::Accepted { job: id, prompt_tokens });
                }
            }
            ToDaemon::Finished { id, finish, usage } => {
                if let Some(told) = self.take_from_worker(id) {
                    self.completed |= finish != Finish::Cancelled;
                    if !told {
                        self.events.push_back(Event::Finished { job: id, finish, usage });
                    }
                    self.end_if_drained(now);
                }
            }
            ToDaemon::Failed { id, refusal } => {
                if let Some(told) = self.take_from_worker(id) {
                    if !told {
                        self.events.push_back(Event::Failed { job: id, refusal });
                    }
                    self.end_if_drained(now);
                }
            }
            ToDaemon::Pong { n, stats } => {
                self.stats = stats;
                if n == self.pings {
                    self.set_ping(Ping::Due(now + self.config.ping_every));
                }
            }
            ToDaemon::Stats(stats) => self.stats = stats,
            ToDaemon::Fatal(why) => self.leaving(why, During::Serving, now),
            ToDaemon::Progress { .. } => {}
            ToDaemon::Hello { .. } | ToDaemon::Loaded(_) | ToDaemon::LoadFailed(_) => {
                self.violated("a hello or a load it already answered", During::Serving);
            }
        }
    }

    /// Takes a job that the worker has ended: `None` where it did not have it, else whether its
    /// client knows of an end already.
    fn take_from_worker(&mut self, id: JobId) -> Option<bool> {
        self.jobs.get(id).filter(|job| job.place != Place::Held)?;
        let job = self.jobs.remove(id)?;
        self.give();
        Some(job.told)
    }

    /// False where the job has more tokens than any job can have.
    fn update(&mut self, mut update: JobUpdate) -> bool {
        let most = self.loaded.as_ref().map_or(0, |loaded| loaded.engine.seq_tokens as usize + 1);
        let Some(job) = self.jobs.get_mut(update.id) else { return true };
        if job.place == Place::Held {
            return true;
        }
        if !update.tokens.is_empty() {
            job.proven = true;
            if job.trust == Trust::Suspect {
                job.trust = Trust::Continued;
            }
        }
        job.submit.commit(&mut update);
        if update.tokens.len() > most || job.submit.committed.len() > most {
            return false;
        }
        if job.place == Place::Worker {
            self.events.push_back(Event::Update(update));
        }
        true
    }

    pub(super) fn set_ping(&mut self, to: Ping) {
        if let State::Ready { ping, .. } = &mut self.state {
            *ping = to;
        }
    }
}
