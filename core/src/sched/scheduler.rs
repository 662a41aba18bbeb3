//! The machine.

use super::budget::Budget;
use super::live::Live;
use super::queue::Queue;
use super::seqs::Seqs;
use super::waste::Waste;
use super::{
    Class, Config, Engine, Event, Finish, Job, JobId, Rows, SeqId, SeqOp, Step, StepId, StepOutcome, refuse,
};
use crate::machine::Misuse;
use crate::refusal::Refusal;
use crate::time::{Clock, Instant};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// Decides which tokens run in the next device step.
///
/// # Use
///
/// After every input (`submit`, `cancel`, `handle_outcome`) drain, in this order,
/// [`poll_step`](Self::poll_step), [`poll_event`](Self::poll_event) and
/// [`poll_timeout`](Self::poll_timeout): a step is planned first because planning it gives lanes
/// away, which the events tell. It is sound to submit several jobs before polling; they are then
/// ranked together. While a step runs, jobs may be submitted and cancelled; ask
/// [`wants_yield`](Self::wants_yield) after each.
///
/// Unless it is idle, a step is in flight or all jobs are paused, there is always a next step.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) config: Config,
    pub(super) clock: Clock,
    pub(super) queue: Queue,
    /// Jobs that run, in the order they got their lanes.
    pub(super) lanes: Vec<Lane>,
    /// Paused jobs that have given their lane up.
    pub(super) aside: BTreeMap<JobId, Live>,
    pub(super) seqs: Seqs,
    pub(super) budget: Budget,
    pub(super) flight: Option<Flight>,
    pub(super) events: VecDeque<Event>,
    pub(super) last_step: StepId,
    orders: u64,
    /// Lanes given to more urgent jobs so far.
    pub(super) preempted: u64,
    /// Prompt tokens that jobs found done: on the device, in host memory.
    pub(super) reused: [u64; 2],
    /// Prompt tokens that completed steps ran: for the first time, again.
    pub(super) prefilled: [u64; 2],
    /// The last step completed held prompt chunks: where passes do not mix, decode rows are next.
    pub(super) prompted: bool,
    /// The last prompt pass began with one that had been passed over.
    pub(super) led: bool,
    /// What passes that are given up may throw away.
    pub(super) waste: Waste,
    /// The engine had less room than it said: no lane is given away until a job has left one.
    pub(super) squeezed: bool,
    /// The last step found no room: nothing is kept beside what runs until one has.
    pub(super) tight: bool,
    pub(super) dead: Option<Refusal>,
}

/// A job that runs.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) live: Live,
    pub(super) seq: SeqId,
    /// What its sequence held came from host memory.
    pub(super) imported: bool,
    /// It has a token from this lane: the next one is a decode row.
    pub(super) decoding: bool,
    /// It runs no further for now.
    pub(super) paused: bool,
    /// Steps with prompt chunks, none of them its own, since its last.
    pub(super) passed_over: u32,
    /// The jobs that wait for it to run what they share.
    pub(super) followed: Option<Followed>,
    pub(super) safety: Safety,
}

/// Whether somebody more urgent may take a lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Safety {
    /// At any time.
    Never,
    /// Not before it is where it was, and then some.
    Returning,
    /// Not before then.
    Until(Instant),
}

/// What the jobs need that wait for a lane to run what they share. Found anew for each step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    /// The most urgent of them.
    pub(super) class: Class,
    /// The first position at which one of them parts from the lane's job.
    pub(super) until: usize,
}

/// The step that runs now.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) id: StepId,
    pub(super) ops: Vec<SeqOp>,
    pub(super) rows: Vec<Flying>,
    /// Something came that should not wait for this pass.
    pub(super) urgent: bool,
}

impl Flight {
    /// Tokens of the entries that are picked.
    pub(super) fn tokens(&self, pick: impl Fn(&Flying) -> bool) -> u64 {
        self.rows.iter().filter(|row| pick(row)).map(|row| row.rows.tokens.len() as u64).sum()
    }
}

/// An entry of the step that runs now.
#[derive(Clone, Debug)]
pub(super) struct Flying {
    pub(super) rows: Rows,
    /// Where its lane was; lanes only move down while a step is in flight.
    pub(super) at: usize,
    pub(super) class: Class,
    pub(super) decoding: bool,
    pub(super) cancelled: bool,
}

/// Why a deadline of the scheduler exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {}

impl Scheduler {
    /// A scheduler for a freshly loaded model, whose sequences are all empty.
    pub fn new(config: Config) -> Self {
        let config = config.sound();
        Self {
            config,
            clock: Clock::default(),
            queue: Queue::default(),
            lanes: Vec::new(),
            aside: BTreeMap::new(),
            seqs: Seqs::new(config.engine.seqs),
            budget: Budget::new(&config),
            flight: None,
            events: VecDeque::new(),
            last_step: StepId::default(),
            orders: 0,
            preempted: 0,
            reused: [0; 2],
            prefilled: [0; 2],
            prompted: false,
            led: false,
            waste: Waste::new(&config.engine),
            squeezed: false,
            tight: false,
            dead: None,
        }
    }

    // Getters.

    /// The engine it plans for.
    pub fn engine(&self) -> &Engine {
        &self.config.engine
    }

    /// Tokens a job can have, prompt and completion together.
    pub fn window(&self) -> u32 {
        self.config.window()
    }

    /// Jobs of a class that have no lane.
    pub fn waiting(&self, class: Class) -> usize {
        self.queue.len(class) + self.aside.values().filter(|live| live.class == class).count()
    }

    /// Jobs of a class that have a lane.
    pub fn running(&self, class: Class) -> usize {
        self.lanes.iter().filter(|lane| lane.live.class == class).count()
    }

    /// Cells in use, kept prefixes included; a cell that sequences share is counted for each.
    pub fn cells_used(&self) -> u32 {
        u32::try_from(self.seqs.cells()).unwrap_or(u32::MAX)
    }

    /// Bytes that states in host memory take.
    pub fn host_bytes(&self) -> u64 {
        self.seqs.shelf.bytes()
    }

    /// Steps planned so far.
    pub fn steps(&self) -> u64 {
        self.last_step.0
    }

    /// Times that a job gave its lane to a more urgent one so far.
    pub fn preempted(&self) -> u64 {
        self.preempted
    }

    /// Prompt tokens so far whose state jobs found when they started: on the device, in host memory.
    pub fn reused(&self) -> [u64; 2] {
        self.reused
    }

    /// Prompt tokens run so far: for the first time, again for jobs whose state was gone, and for
    /// nothing, as their pass was given up (as far as its time tells).
    pub fn prefilled(&self) -> [u64; 3] {
        let [first, again] = self.prefilled;
        [first, again, self.waste.lost()]
    }

    /// Cells that jobs with a lane hold; a cell that sequences share is counted for each.
    pub fn cells_held(&self) -> u32 {
        u32::try_from(self.seqs.running_cells()).unwrap_or(u32::MAX)
    }

    /// Whether no job is alive and no step is in flight.
    pub fn is_idle(&self) -> bool {
        self.lanes.is_empty() && self.aside.is_empty() && self.queue.is_empty() && self.flight.is_none()
    }

    /// Whether a job is alive.
    pub fn contains(&self, job: JobId) -> bool {
        self.queue.contains(job)
            || self.aside.contains_key(&job)
            || self.lanes.iter().any(|lane| lane.live.id == job)
    }

    /// Whether the step in flight should be given up at the next boundary: something more urgent
    /// can start and would wait longer than `gap` for it, or half of it is for cancelled jobs. Of
    /// what is run a twentieth at most is thrown away so, and one micro-batch; a step in which no job
    /// is left is always given up.
    pub fn wants_yield(&self) -> bool {
        let Some(flight) = &self.flight else { return false };
        let (all, live) = (flight.tokens(|_| true), flight.tokens(|row| !row.cancelled));
        if live == 0 {
            return all > 0;
        }
        let stake = live.min(u64::from(self.config.engine.micro_batch));
        (flight.urgent || live * 2 <= all) && self.waste.allows(stake)
    }

    // The world happened.

    /// Takes the outcome of the step in flight.
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownEffect`] if no such step is in flight, [`Misuse::WrongOutcome`] if the
    /// results are not those the step's rows want. Nothing has changed then.
    pub fn handle_outcome(&mut self, outcome: StepOutcome, now: Instant) -> Result<(), Misuse> {
        self.take_outcome(outcome, now)
    }

    // Verbs.

    /// Queues a job. A continued job (`committed`) that has no room left ends at once with
    /// [`Finish::Length`].
    ///
    /// # Errors
    ///
    /// `invalid_prompt` (empty, or all `committed`), `invalid_max_tokens` (0),
    /// `context_length_exceeded`, `duplicate_id`, `overloaded` (the class's queue is full), or what
    /// the engine died of.
    pub fn submit(&mut self, job: Job, now: Instant) -> Result<(), Refusal> {
        let now = self.clock.advance(now);
        if let Some(refusal) = &self.dead {
            return Err(refusal.clone());
        }
        refuse::check(&job, &self.config)?;
        if self.contains(job.id) {
            return Err(refuse::duplicate(&job));
        }
        let (class, waiting) = (job.class, self.queue.len(job.class));
        if waiting >= self.config.queue_per_class {
            return Err(refuse::overloaded(class, waiting));
        }
        self.orders += 1;
        let live = Live::new(job, self.orders, self.config.window(), self.config.age(), now);
        if live.is_full() {
            let (job, usage) = (live.id, live.usage());
            self.events.push_back(Event::Finished { job, finish: Finish::Length, usage });
            return Ok(());
        }
        let id = live.id;
        self.queue.push(live);
        self.note_urgency(id);
        Ok(())
    }

    /// Ends a job with [`Finish::Cancelled`]; its lane is free at once and no token of it is
    /// reported any more. What completed steps computed is kept for others. Returns whether the job
    /// was alive.
    pub fn cancel(&mut self, job: JobId, now: Instant) -> bool {
        self.clock.advance(now);
        let waiting = self.queue.remove(job).or_else(|| self.aside.remove(&job));
        let live = if let Some(live) = waiting {
            live
        } else if let Some(at) = self.lanes.iter().position(|lane| lane.live.id == job) {
            let lane = self.leave(at);
            self.seqs.release(lane.seq);
            lane.live
        } else {
            return false;
        };
        let flying = self.flight.iter_mut().flat_map(|flight| &mut flight.rows);
        flying.filter(|row| row.rows.job == job).for_each(|row| row.cancelled = true);
        self.events.push_back(Event::Finished { job, finish: Finish::Cancelled, usage: live.usage() });
        true
    }

    // Polls.

    /// The next step, if none is in flight and there is work.
    pub fn poll_step(&mut self, now: Instant) -> Option<Step> {
        self.clock.advance(now);
        if self.flight.is_some() || self.dead.is_some() {
            return None;
        }
        self.plan()
    }

    /// What became of jobs, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call again although nothing happened, and why. Aging is settled by the order in
    /// which jobs stand, so nothing here waits for time: always `None`.
    pub fn poll_timeout(&self) -> Option<(Instant, Why)> {
        None
    }

    /// Takes a lane's job out of it.
    pub(super) fn leave(&mut self, at: usize) -> Lane {
        self.squeezed = false;
        self.lanes.remove(at)
    }

    /// A pass that holds nothing but long prompts of lower classes is not worth waiting for. One
    /// that decodes is as short as it gets, and one that runs what the job waits for is its own.
    pub(super) fn note_urgency(&mut self, id: JobId) {
        let (Some(flight), Some(live)) = (&self.flight, self.queue.get(id)) else { return };
        let class = live.class;
        let taken = self.lanes.iter().filter(|lane| !lane.paused).count();
        let free = taken < self.config.engine.lanes as usize || self.can_preempt(class);
        let can_start = free && self.open(class) > 0;
        let lower = flight.rows.iter().all(|row| !row.decoding && row.class > class);
        let long = flight.tokens(|_| true) > self.budget.prompt_tokens(0) as u64;
        if !can_start || !lower || !long {
            return;
        }
        let leader = self.leader(live).map(|(at, _)| self.lanes[at].seq);
        let served = flight.rows.iter().any(|row| Some(row.rows.seq) == leader);
        if let Some(flight) = self.flight.as_mut().filter(|_| !served) {
            flight.urgent = true;
        }
    }
}
