//! The scheduler, the jobs it runs, and what the daemon is told of them.

use super::live::{Live, nothing};
use super::prepare::Prepared;
use super::shared::{Shared, ToDevice};
use crate::mailbox::CLOSED;
use crate::primitives::{Pick, Picked};
use crate::runtime::Vocabulary;
use crate::sample::Scratch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};
use superfluid_core::sched::{
    Class, Config, Event, Finish, JobId, RowResult, Rows, Scheduler, Step, StepOutcome, Usage, Want,
};
use superfluid_core::wire::{JobUpdate, Stats, ToDaemon};
use superfluid_core::{Instant, Misuse, Refusal};

/// The daemon's numbers are no older while something runs.
const FRESH: Duration = Duration::from_millis(500);

pub(super) struct Brain {
    scheduler: Scheduler,
    jobs: BTreeMap<JobId, Live>,
    vocabulary: Arc<dyn Vocabulary>,
    shared: Arc<Shared>,
    origin: Clock,
    scratch: Scratch,
    commands: Vec<ToDevice>,
    /// What the step in flight brought so far, in the order of its rows.
    updates: Vec<JobUpdate>,
    /// What the daemon was told last, and when.
    told: Stats,
    told_at: Clock,
    draining: bool,
    broken: Option<Refusal>,
}

impl Brain {
    pub(super) fn new(config: Config, vocabulary: Arc<dyn Vocabulary>, shared: Arc<Shared>) -> Self {
        Self {
            scheduler: Scheduler::new(config),
            jobs: BTreeMap::new(),
            vocabulary,
            shared,
            origin: Clock::now(),
            scratch: Scratch::default(),
            commands: Vec::new(),
            updates: Vec::new(),
            told: Stats::default(),
            told_at: Clock::now(),
            draining: false,
            broken: None,
        }
    }

    /// Whether every job is finished and no more will come.
    pub(super) fn is_drained(&self) -> bool {
        self.draining && self.scheduler.is_idle()
    }

    /// Whether the daemon closed the link.
    pub(super) fn is_alone(&self) -> bool {
        self.shared.inbox.alerts() & CLOSED != 0
    }

    /// Why the link cannot go on, once.
    pub(super) fn take_broken(&mut self) -> Option<Refusal> {
        self.broken.take()
    }

    /// Carries out what came from the daemon.
    pub(super) fn take_commands(&mut self) {
        let mut commands = std::mem::take(&mut self.commands);
        self.shared.inbox.take_all(&mut commands);
        for command in commands.drain(..) {
            match command {
                ToDevice::Submit(prepared) => self.submit(&prepared),
                ToDevice::Cancel(id) => {
                    let now = self.now();
                    self.scheduler.cancel(id, now);
                    self.tell();
                }
                ToDevice::Pause(id, pause) => {
                    let now = self.now();
                    match pause {
                        true => self.scheduler.pause(id, now),
                        false => self.scheduler.resume(id, now),
                    };
                }
                ToDevice::Drain => self.draining = true,
                ToDevice::Broken(refusal) => self.broken = Some(refusal),
                // The reader lets no second load through.
                ToDevice::Load(_) => {}
            }
        }
        self.commands = commands;
    }

    /// Whether the step in flight should be given up: asked while it runs, so whatever came
    /// meanwhile is carried out first.
    pub(super) fn should_give_up(&mut self) -> bool {
        if self.shared.inbox.alerts() != 0 {
            self.take_commands();
        }
        self.is_alone() || self.broken.is_some() || self.scheduler.wants_yield()
    }

    pub(super) fn poll_step(&mut self) -> Option<Step> {
        let now = self.now();
        let step = self.scheduler.poll_step(now);
        // Planning gives lanes away, and a long pass should not hide it. With nothing to run the
        // numbers stay as they are for long.
        self.tell_stats(step.is_none());
        step
    }

    /// When to look again although nothing happened.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        self.scheduler.poll_timeout().map(|(at, _)| at.since(self.now()))
    }

    /// How the runtime should choose the token after `rows`.
    pub(super) fn pick(&self, rows: &Rows) -> Pick {
        match rows.want {
            Want::Nothing => Pick::Nothing,
            // A job that was cancelled meanwhile still has its row in the step.
            Want::Token => self.jobs.get(&rows.job).map_or(Pick::Argmax, Live::pick),
        }
    }

    /// What `rows` brought.
    pub(super) fn result(&mut self, rows: &Rows, picked: &Picked<'_>) -> RowResult {
        if rows.want == Want::Nothing {
            return RowResult::Fed;
        }
        let Some(live) = self.jobs.get_mut(&rows.job) else {
            return RowResult::Token { token: 0, end: None };
        };
        let position = rows.start + u32::try_from(rows.tokens.len()).unwrap_or(0);
        let mut update = nothing(rows.job);
        match live.next(picked, position, &*self.vocabulary, &mut self.scratch, &mut update) {
            Ok((token, end)) => {
                self.updates.push(update);
                RowResult::Token { token, end }
            }
            Err(refusal) => RowResult::Fault { refusal },
        }
    }

    /// Takes a step's outcome and tells the daemon what came of it.
    pub(super) fn handle_outcome(&mut self, outcome: StepOutcome) -> Result<(), Misuse> {
        let now = self.now();
        self.scheduler.handle_outcome(outcome, now)?;
        self.tell();
        Ok(())
    }

    fn submit(&mut self, prepared: &Prepared) {
        let job = prepared.job.clone();
        let id = job.id;
        let (mut live, ended) = Live::new(prepared, &*self.vocabulary);
        if ended.is_some() {
            // The worker before died between the last token and telling that it was the last.
            live.finish(self.update_of(id));
            self.tell();
            let usage = Usage { prompt: prepared.prompt_tokens(), cached: 0, completion: job.committed };
            return self.send(ToDaemon::Finished { id, finish: Finish::Stop, usage });
        }
        let now = self.now();
        match self.scheduler.submit(job, now) {
            Ok(()) => {
                self.jobs.insert(id, live);
                self.tell();
            }
            Err(refusal) => self.send(ToDaemon::Failed { id, refusal }),
        }
    }

    /// Drains the scheduler's events into frames: all text of a step in one, then the ends.
    fn tell(&mut self) {
        let mut ends = Vec::new();
        while let Some(event) = self.scheduler.poll_event() {
            match event {
                Event::Started { .. } | Event::Token { .. } => {}
                Event::Finished { job, mut finish, usage } => {
                    if let Some(mut live) = self.jobs.remove(&job)
                        && finish != Finish::Cancelled
                        && live.finish(self.update_of(job))
                    {
                        finish = Finish::Stop;
                    }
                    ends.push(ToDaemon::Finished { id: job, finish, usage });
                }
                Event::Failed { job, refusal } => {
                    self.jobs.remove(&job);
                    ends.push(ToDaemon::Failed { id: job, refusal });
                }
            }
        }
        self.updates.retain(|u| !(u.tokens.is_empty() && u.text.is_empty() && u.logprobs.is_empty()));
        if !self.updates.is_empty() {
            let jobs = std::mem::take(&mut self.updates);
            self.send(ToDaemon::Updates { jobs });
        }
        for end in ends {
            self.send(end);
        }
        self.tell_stats(false);
    }

    /// The daemon is told at once of who has a lane and who waits, and of the rest soon enough for who
    /// looks each second, or `now`.
    fn tell_stats(&mut self, now: bool) {
        let stats = self.stats();
        self.shared.gauges.set(stats);
        let jobs = |stats: &Stats| (stats.running, stats.queued, stats.paused);
        let due = now || jobs(&stats) != jobs(&self.told) || self.told_at.elapsed() >= FRESH;
        if due && stats != self.told {
            self.told = stats;
            self.told_at = Clock::now();
            self.send(ToDaemon::Stats(stats));
        }
    }

    fn update_of(&mut self, job: JobId) -> &mut JobUpdate {
        let at = self.updates.iter().position(|update| update.id == job).unwrap_or_else(|| {
            self.updates.push(nothing(job));
            self.updates.len() - 1
        });
        &mut self.updates[at]
    }

    fn stats(&self) -> Stats {
        let count = |jobs: usize| u32::try_from(jobs).unwrap_or(u32::MAX);
        let [device, host] = self.scheduler.reused();
        let queued = Class::ALL.map(|class| count(self.scheduler.waiting(class)));
        Stats {
            waiting: queued.iter().sum(),
            running: Class::ALL.iter().map(|class| count(self.scheduler.running(*class))).sum(),
            paused: count(self.scheduler.paused()),
            held: self.scheduler.cells_held(),
            cells: self.scheduler.cells_used(),
            steps: self.scheduler.steps(),
            queued,
            preempted: self.scheduler.preempted(),
            // Nothing is kept on disk.
            reused: [device, host, 0],
            prefilled: self.scheduler.prefilled(),
        }
    }

    fn send(&self, frame: ToDaemon) {
        self.shared.tell(frame);
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
