//! One model's worker, from the first spawn to the last exit.

mod backlog;
mod frames;
mod lives;

use super::config::Config;
use super::event::{Death, Effect, Event, Life, Status, Totals, Wake};
use super::exit::Exit;
use super::jobs::{Jobs, Place, Trust};
use super::reason::{self, During};
use crate::machine::{Broken, Misuse};
use crate::refusal::Refusal;
use crate::sched::{Class, JobId};
use crate::time::{Clock, Instant};
use crate::wire::{LoadSpec, Loaded, PROTOCOL, Stats, Submit, ToDaemon, ToWorker};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

/// The worker process's state. A process exists in `Hello` up to and with `Exiting`.
#[derive(Clone, Debug)]
enum State {
    Spawning,
    Hello {
        deadline: Instant,
    },
    Loading {
        deadline: Instant,
        permille: u32,
    },
    Ready {
        since: Instant,
        ping: Ping,
    },
    /// Its exit is awaited: it was told to go (`why` is none), or it can't stay.
    Exiting {
        why: Option<Refusal>,
        during: During,
        deadline: Option<Instant>,
    },
    Backoff {
        until: Instant,
    },
    Stopped,
    Failed {
        why: Refusal,
    },
}

#[derive(Clone, Copy, Debug)]
enum Ping {
    Due(Instant),
    Awaited {
        until: Instant,
        /// When a worker with nothing to do counts as one that does not answer.
        silent_at: Instant,
    },
    /// Awaited from one that does not answer.
    Missed {
        until: Instant,
    },
}

/// What the supervisor is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Serve,
    Drain { deadline: Instant },
    Stop,
}

/// The machine of [`supervise`](super). After each input drain, in this order, `poll_effect`,
/// `poll_send` and `poll_event`, then wait for the next input or `poll_timeout`.
#[derive(Clone, Debug)]
pub struct Supervisor {
    config: Config,
    runtime: String,
    spec: LoadSpec,
    clock: Clock,
    state: State,
    goal: Goal,
    life: Life,
    /// In a row.
    crashes: u32,
    /// Those of them that no job can be blamed for.
    unprovoked: u32,
    /// Whether this life took jobs down with it.
    provoked: bool,
    /// Whether this life completed a job.
    completed: bool,
    pings: u64,
    stats: Stats,
    /// Of the lives before this one.
    totals: Totals,
    loaded: Option<Box<Loaded>>,
    jobs: Jobs,
    /// Jobs that were ended by a stop, or by the end of a drain.
    cut: u64,
    /// Until when the job on trial keeps new ones waiting.
    trial: Option<Instant>,
    /// Whether a new job had its turn since the last trial began.
    passed: bool,
    effects: VecDeque<Effect>,
    sends: VecDeque<ToWorker>,
    events: VecDeque<Event>,
}

/// Getters.
impl Supervisor {
    /// A supervisor that wants the worker of `runtime` (canonical id) spawned and `spec` loaded.
    pub fn new(config: Config, runtime: impl Into<String>, spec: LoadSpec, now: Instant) -> Self {
        let mut clock = Clock::default();
        clock.advance(now);
        let mut new = Self {
            config,
            runtime: runtime.into(),
            spec,
            clock,
            state: State::Spawning,
            goal: Goal::Serve,
            life: Life(0),
            crashes: 0,
            unprovoked: 0,
            provoked: false,
            completed: false,
            pings: 0,
            stats: Stats::default(),
            totals: Totals::default(),
            loaded: None,
            jobs: Jobs::default(),
            cut: 0,
            trial: None,
            passed: false,
            effects: VecDeque::new(),
            sends: VecDeque::new(),
            events: VecDeque::new(),
        };
        new.spawn();
        new
    }

    /// Where the worker stands.
    pub fn status(&self) -> Status {
        match (&self.state, self.goal) {
            (State::Stopped, _) => Status::Stopped,
            (State::Failed { .. }, _) => Status::Failed,
            (_, Goal::Drain { .. } | Goal::Stop) => Status::Draining,
            (State::Ready { ping: Ping::Missed { .. }, .. }, _) => Status::Silent,
            (State::Ready { .. }, _) => Status::Ready,
            _ if self.loaded.is_some() => Status::Restarting,
            (State::Loading { permille, .. }, _) => Status::Loading { permille: *permille },
            _ => Status::Starting,
        }
    }

    /// What the model can do, once it was loaded; kept while the worker restarts.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_deref()
    }

    /// What the worker last said it is doing; zeroes after a restart. Jobs that have ended since are
    /// taken off.
    pub fn stats(&self) -> Stats {
        let jobs = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        let running = self.stats.running.min(jobs);
        Stats { running, waiting: self.stats.waiting.min(jobs - running), ..self.stats }
    }

    /// Jobs that have not ended.
    pub fn jobs(&self) -> usize {
        self.jobs.iter().filter(|job| !job.told).count()
    }

    /// Processes started so far.
    pub const fn lives(&self) -> u64 {
        self.life.0
    }

    /// What has been counted over all lives.
    pub fn totals(&self) -> Totals {
        let Stats { preempted, reused, prefilled, .. } = self.stats;
        let before = Totals { restarts: self.life.0.saturating_sub(1), ..self.totals };
        before + Totals { preempted, reused, prefilled, ..Totals::default() }
    }

    fn lanes(&self) -> usize {
        self.loaded.as_ref().map_or(1, |loaded| loaded.engine.lanes.max(1) as usize)
    }

    /// Whether a job on trial keeps new ones waiting.
    fn tries_alone(&self) -> bool {
        self.trial.is_some() && self.jobs.is_on_trial()
    }

    fn has_process(&self) -> bool {
        matches!(
            self.state,
            State::Hello { .. } | State::Loading { .. } | State::Ready { .. } | State::Exiting { .. }
        )
    }

    /// Checks what must always hold.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        let broken = |what: &str| Err(Broken(format!("{what} in {:?}", self.state)));
        let ready = matches!(self.state, State::Ready { .. });
        if !ready && self.jobs.iter().any(|job| job.place != Place::Held) {
            return broken("a job is with a worker that is not ready");
        }
        let trying = self.jobs.is_on_trial();
        let busy = trying || self.jobs.with_worker() >= self.lanes() || self.jobs.has_unproven();
        let next = self.jobs.tried_next();
        if ready && next.is_some() && !busy {
            return broken("a job is not tried though it could be");
        }
        let behind = |class| !trying && self.passed && next.is_some_and(|next| class >= next);
        let mut new = self.jobs.iter().filter(|job| job.place == Place::Held && job.trust == Trust::New);
        if ready && !self.tries_alone() && new.any(|job| !behind(job.submit.class)) {
            return broken("a job is held from a worker that is ready");
        }
        if (self.loaded.is_none() || self.goal == Goal::Stop) && !ready && !self.jobs.is_empty() {
            return broken("a job waits for a worker that will not come");
        }
        if matches!(self.state, State::Stopped | State::Failed { .. }) && !self.jobs.is_empty() {
            return broken("a job outlived its worker");
        }
        let over = matches!(self.state, State::Exiting { .. } | State::Stopped | State::Failed { .. });
        if matches!(self.goal, Goal::Drain { .. }) && !over && self.jobs.is_empty() {
            return broken("drained and still up");
        }
        if self.jobs.iter().any(|job| job.told && job.place != Place::Cancelling) {
            return broken("a job whose end was told goes on");
        }
        if Class::ALL.iter().any(|class| self.jobs.of(*class) > self.config.jobs_max) {
            return broken("too many jobs of a class");
        }
        Ok(())
    }
}

/// The world happened.
impl Supervisor {
    /// Answers [`Effect::Spawn`].
    pub fn handle_spawned(
        &mut self,
        life: Life,
        result: Result<(), Refusal>,
        now: Instant,
    ) -> Result<(), Misuse> {
        if life != self.life || !matches!(self.state, State::Spawning) {
            return Err(Misuse::UnknownEffect(life.0));
        }
        let now = self.clock.advance(now);
        match result {
            Ok(()) if self.goal == Goal::Stop => self.kill(None, During::Handshake),
            Ok(()) => {
                self.state = State::Hello { deadline: now + self.config.handshake };
                self.sends.push_back(ToWorker::Hello { protocol: PROTOCOL });
            }
            Err(refusal) => self.down(Death { refusal, stderr: alloc::vec![] }),
        }
        Ok(())
    }

    /// The worker said something. What a process says after its exit, or after it was given up,
    /// changes nothing.
    pub fn handle_frame(&mut self, life: Life, frame: ToDaemon, now: Instant) {
        let now = self.clock.advance(now);
        if life != self.life {
            return;
        }
        match self.state {
            State::Hello { .. } => self.hello_frame(frame, now),
            State::Loading { .. } => self.loading_frame(frame, now),
            State::Ready { .. } => self.ready_frame(frame, now),
            _ => {}
        }
    }

    /// The worker's frames can't be read, or nothing can be written to it. `detail` says why.
    pub fn handle_link_error(&mut self, life: Life, detail: &str, now: Instant) {
        self.clock.advance(now);
        let during = self.during();
        if life == self.life && !matches!(self.state, State::Exiting { .. }) && self.has_process() {
            let why = reason::junk(&self.runtime, detail);
            self.kill(Some(why), during);
        }
    }

    /// The process ended and was reaped; every frame it wrote was handled before.
    pub fn handle_exit(&mut self, life: Life, exit: Exit, now: Instant) -> Result<(), Misuse> {
        if life != self.life || !self.has_process() {
            return Err(Misuse::UnknownEffect(life.0));
        }
        self.clock.advance(now);
        let death = match &self.state {
            State::Exiting { why: Some(why), .. } => Death { refusal: why.clone(), stderr: exit.stderr },
            State::Exiting { why: None, during, .. } => reason::died(&self.runtime, *during, exit),
            State::Ready { .. } => reason::died(&self.runtime, During::Serving, exit),
            State::Loading { .. } => reason::died(&self.runtime, During::Load, exit),
            _ => reason::died(&self.runtime, During::Handshake, exit),
        };
        self.down(death);
        Ok(())
    }

    /// Time passed; call at the instant `poll_timeout` names.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.advance(now);
        let Some((at, wake)) = self.poll_timeout() else { return };
        if at > now {
            return;
        }
        let during = self.during();
        match wake {
            Wake::Handshake => {
                self.kill(Some(reason::silent(&self.runtime, during, self.config.handshake)), during);
            }
            Wake::Load => {
                self.kill(Some(reason::silent(&self.runtime, during, self.config.load_stall)), during);
            }
            Wake::Pong => {
                self.kill(Some(reason::silent(&self.runtime, during, self.config.ping_patience)), during);
            }
            Wake::Ping => {
                self.pings += 1;
                self.sends.push_back(ToWorker::Ping { n: self.pings });
                let until = now + self.config.ping_patience;
                self.set_ping(Ping::Awaited { until, silent_at: now + self.config.idle_patience });
            }
            Wake::Silent => {
                if let State::Ready { ping: Ping::Awaited { until, .. }, .. } = self.state {
                    self.set_ping(Ping::Missed { until });
                }
            }
            Wake::Exit => {
                if let State::Exiting { deadline, .. } = &mut self.state {
                    *deadline = None;
                    self.effects.push_back(Effect::Kill { life: self.life });
                }
            }
            Wake::Restart => self.spawn(),
            Wake::Drain => self.stop(now),
            Wake::Deadline => self.fail_late(now),
            Wake::Trial => {
                self.trial = None;
                self.give();
            }
        }
    }
}

/// Someone asks.
impl Supervisor {
    /// Takes a job on. Whatever comes of it, a refusal too, arrives as an event.
    pub fn submit(&mut self, submit: Submit, now: Instant) -> Result<(), Misuse> {
        let id = submit.id;
        if self.jobs.get(id).is_some() {
            return Err(Misuse::DuplicateId(id.0));
        }
        self.clock.advance(now);
        let refusal = match (&self.state, self.goal) {
            (State::Failed { why }, _) => Some(why.clone()),
            (_, Goal::Drain { .. } | Goal::Stop) => Some(reason::draining()),
            _ if self.loaded.is_none() => Some(reason::loading()),
            _ if self.jobs.of(submit.class) >= self.config.jobs_max => {
                Some(reason::full(self.config.jobs_max, submit.class))
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.events.push_back(Event::Failed { job: id, refusal });
        } else {
            self.jobs.insert(submit);
            self.give();
        }
        Ok(())
    }

    /// The job must be over by then, or fails with `deadline_exceeded`, whether it waits or runs. An
    /// id that is not known changes nothing.
    pub fn set_deadline(&mut self, id: JobId, deadline: Instant, now: Instant) {
        self.clock.advance(now);
        if let Some(job) = self.jobs.get_mut(id) {
            job.deadline = Some(deadline);
        }
    }

    /// Gives a job up; it ends as cancelled unless it ends otherwise before. An id that is not
    /// known changes nothing: the job may just have ended.
    pub fn cancel(&mut self, id: JobId, now: Instant) {
        let now = self.clock.advance(now);
        let Some(job) = self.jobs.get_mut(id) else { return };
        match job.place {
            Place::Held => {
                self.jobs.remove(id);
                self.finish_cancelled(id);
                self.give();
                self.end_if_drained(now);
            }
            Place::Worker => {
                job.place = Place::Cancelling;
                self.sends.push_back(ToWorker::Cancel { id });
            }
            Place::Cancelling => {}
        }
    }

    /// Takes nothing new, finishes what is there (until [`Config::drain`] is over, with a successor
    /// should the worker die), ends the worker.
    pub fn drain(&mut self, now: Instant) {
        let now = self.clock.advance(now);
        if self.goal != Goal::Serve {
            return;
        }
        self.goal = Goal::Drain { deadline: now + self.config.drain };
        if !matches!(self.state, State::Stopped | State::Failed { .. }) {
            // What waits for a successor is finished by it.
            self.end_if_drained(now);
        }
    }

    /// Ends the worker now; what runs is cut.
    pub fn stop(&mut self, now: Instant) {
        self.clock.advance(now);
        if matches!(self.state, State::Stopped | State::Failed { .. }) {
            return;
        }
        self.goal = Goal::Stop;
        self.cut_jobs();
        let during = self.during();
        match &mut self.state {
            State::Backoff { .. } => {
                self.state = State::Stopped;
                self.events.push_back(Event::Stopped { cut: self.cut });
            }
            State::Exiting { deadline, .. } => {
                if deadline.take().is_some() {
                    self.effects.push_back(Effect::Kill { life: self.life });
                }
            }
            State::Hello { .. } | State::Loading { .. } | State::Ready { .. } => self.kill(None, during),
            State::Spawning | State::Stopped | State::Failed { .. } => {}
        }
    }
}

/// What it wants.
impl Supervisor {
    /// A process to start or kill.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// A frame for the present process, in order. Needs no answer: a write that fails shows as
    /// `handle_link_error` or `handle_exit`.
    pub fn poll_send(&mut self) -> Option<ToWorker> {
        self.sends.pop_front()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When `handle_timeout` is due, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, Wake)> {
        let own = match self.state {
            State::Hello { deadline } => Some((deadline, Wake::Handshake)),
            State::Loading { deadline, .. } => Some((deadline, Wake::Load)),
            State::Ready { ping: Ping::Due(at), .. } => Some((at, Wake::Ping)),
            State::Ready { ping: Ping::Awaited { until, silent_at }, .. } => {
                let idle = self.jobs.with_worker() == 0;
                Some(if idle {
                    (silent_at, Wake::Silent).min((until, Wake::Pong))
                } else {
                    (until, Wake::Pong)
                })
            }
            State::Ready { ping: Ping::Missed { until }, .. } => Some((until, Wake::Pong)),
            State::Exiting { deadline: Some(deadline), .. } => Some((deadline, Wake::Exit)),
            State::Backoff { until } => Some((until, Wake::Restart)),
            _ => None,
        };
        let drain = match (self.goal, &self.state) {
            (_, State::Stopped | State::Failed { .. }) => None,
            (Goal::Drain { deadline }, _) if !self.jobs.is_empty() => Some((deadline, Wake::Drain)),
            _ => None,
        };
        let late = self.jobs.iter().filter_map(|job| Some((job.deadline?, Wake::Deadline)));
        let trial = self.trial.filter(|_| self.tries_alone()).map(|until| (until, Wake::Trial));
        own.into_iter().chain(trial).chain(drain).chain(late).min()
    }
}
