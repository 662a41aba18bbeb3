//! How lives begin and end, and what becomes of the jobs.

use super::super::event::{Death, Effect, Event};
use super::super::jobs::{Place, Trust};
use super::super::permanent::is_permanent;
use super::super::reason::{self, During};
use super::{Goal, State, Supervisor};
use crate::refusal::Refusal;
use crate::sched::{Finish, JobId, Usage};
use crate::time::Instant;
use crate::wire::{Stats, ToWorker};

/// Deaths that newer jobs may be blamed for in a job's favour.
const UNEXPLAINED: u32 = 4;

impl Supervisor {
    pub(super) fn during(&self) -> During {
        match self.state {
            State::Loading { .. } => During::Load,
            State::Ready { .. } => During::Serving,
            State::Exiting { during, .. } => during,
            _ => During::Handshake,
        }
    }

    pub(super) fn spawn(&mut self) {
        self.life.0 += 1;
        self.totals = self.totals();
        self.completed = false;
        self.provoked = false;
        self.stats = Stats::default();
        self.state = State::Spawning;
        self.effects.push_back(Effect::Spawn { life: self.life });
    }

    /// The worker said that it ends; it has a moment to do so.
    pub(super) fn leaving(&mut self, why: Refusal, during: During, now: Instant) {
        self.settle(now);
        self.let_go(&why);
        self.state = State::Exiting { why: Some(why), during, deadline: Some(now + self.config.exit_grace) };
        self.sends.clear();
    }

    pub(super) fn violated(&mut self, what: &str, during: During) {
        let why = reason::junk(&self.runtime, what);
        self.kill(Some(why), during);
    }

    pub(super) fn kill(&mut self, why: Option<Refusal>, during: During) {
        self.settle(self.clock.now());
        self.let_go(why.as_ref().unwrap_or(&reason::cut()));
        self.sends.clear();
        self.state = State::Exiting { why, during, deadline: None };
        self.effects.push_back(Effect::Kill { life: self.life });
    }

    /// A life that did its work ends a row of crashes.
    pub(super) fn settle(&mut self, now: Instant) {
        if let State::Ready { since, .. } = self.state
            && (self.completed || now.since(since) >= self.config.stable)
        {
            self.crashes = 0;
            self.unprovoked = 0;
        }
    }

    pub(super) fn end_if_drained(&mut self, now: Instant) {
        if !matches!(self.goal, Goal::Drain { .. }) || !self.jobs.is_empty() {
            return;
        }
        if matches!(self.state, State::Ready { .. }) {
            self.sends.push_back(ToWorker::Drain);
            let deadline = Some(now + self.config.exit_grace);
            self.state = State::Exiting { why: None, during: During::Serving, deadline };
        } else {
            self.stop(now);
        }
    }

    /// The process is gone, or never came.
    pub(super) fn down(&mut self, death: Death) {
        let now = self.clock.now();
        let permanent = self.during() != During::Serving && is_permanent(&death.refusal.code);
        self.settle(now);
        self.let_go(&death.refusal);
        self.sends.clear();
        self.effects.clear();
        // A drain promises to finish what was there, and its deadline bounds how long that is tried.
        let finishes = matches!(self.goal, Goal::Drain { .. }) && !self.jobs.is_empty();
        if self.goal != Goal::Serve && !finishes {
            self.cut_jobs();
            self.state = State::Stopped;
            self.events.push_back(Event::Stopped { cut: self.cut });
            return;
        }
        self.crashes = self.crashes.saturating_add(1);
        self.unprovoked += u32::from(!self.provoked);
        if self.loaded.is_none() || permanent || self.unprovoked > self.config.crashes_max {
            let gone = match permanent && self.loaded.is_some() {
                true => reason::not_loadable(&self.runtime, &death.refusal),
                false => reason::gone(&self.runtime, &death.refusal),
            };
            self.fail_jobs(|| gone.clone());
            self.state = State::Failed { why: gone };
            self.events.push_back(Event::Down { death, restart_in: None });
        } else {
            let wait = self.config.backoff(self.crashes);
            self.state = State::Backoff { until: now + wait };
            self.events.push_back(Event::Down { death, restart_in: Some(wait) });
        }
    }

    /// The process, which ends of `why`, has no jobs any more. They wait for its successor, but
    /// for one that was with two workers in a row when they died: it may take down every one.
    ///
    /// A job on trial is taken for the cause, and those that the second worker had gone on with are
    /// not. Where none was on trial those are failed, unless that worker was up for long, or had
    /// newer jobs: then it is more likely one of those, which will tell, but not for ever.
    pub(super) fn let_go(&mut self, why: &Refusal) {
        let known = self.jobs.is_on_trial();
        let newer = self.jobs.iter().any(|job| job.place != Place::Held && job.trust == Trust::New);
        let lasted = match self.state {
            State::Ready { since, .. } => self.clock.now().since(since) >= self.config.stable,
            _ => false,
        };
        // A client that goes away at once does not make its job harmless.
        self.provoked |= self.jobs.with_worker() > 0;
        let serve = self.goal != Goal::Stop;
        for mut job in self.jobs.take(|job| !serve || job.place != Place::Held) {
            let id = job.submit.id;
            let spared = match job.trust {
                Trust::New => true,
                Trust::Suspect => false,
                Trust::Continued => known || lasted || (newer && job.unexplained < UNEXPLAINED),
            };
            if job.told {
                continue;
            } else if job.place == Place::Cancelling {
                self.finish_cancelled(id);
            } else if serve && spared {
                job.unexplained += u32::from(!known && !lasted);
                self.totals.continued += 1;
                self.jobs.put_back(job);
            } else if job.place == Place::Held {
                self.cut += 1;
                self.events.push_back(Event::Failed { job: id, refusal: reason::cut() });
            } else {
                let refusal = reason::job_lost(&self.runtime, serve, why);
                self.events.push_back(Event::Failed { job: id, refusal });
            }
        }
    }

    pub(super) fn cut_jobs(&mut self) {
        self.cut += self.fail_jobs(reason::cut);
    }

    /// How many jobs had not ended otherwise.
    pub(super) fn fail_jobs(&mut self, refusal: impl Fn() -> Refusal) -> u64 {
        let mut failed = 0;
        for job in self.jobs.take(|_| true) {
            let id = job.submit.id;
            if job.told {
                continue;
            } else if job.place == Place::Cancelling {
                self.finish_cancelled(id);
            } else {
                failed += 1;
                self.events.push_back(Event::Failed { job: id, refusal: refusal() });
            }
        }
        failed
    }

    /// Jobs whose deadline is over are failed, whether they wait or run.
    pub(super) fn fail_late(&mut self, now: Instant) {
        let mut late = false;
        for job in self.jobs.iter_mut().filter(|job| job.deadline.is_some_and(|deadline| deadline <= now)) {
            let id = job.submit.id;
            job.deadline = None;
            late = true;
            if job.place == Place::Cancelling {
                continue;
            }
            job.told = true;
            self.events.push_back(Event::Failed { job: id, refusal: reason::late(job.place != Place::Held) });
            if job.place == Place::Worker {
                job.place = Place::Cancelling;
                self.sends.push_back(ToWorker::Cancel { id });
            }
        }
        self.jobs.take(|job| job.told && job.place == Place::Held);
        if late {
            self.give();
            self.end_if_drained(now);
        }
    }

    pub(super) fn finish_cancelled(&mut self, job: JobId) {
        self.events.push_back(Event::Finished { job, finish: Finish::Cancelled, usage: Usage::default() });
    }
}
