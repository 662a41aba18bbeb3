//! A small world around the scheduler: an engine, a clock, and a book in which each job's course is
//! compared with what the job says alone.

mod engine;
mod reference;
mod script;

pub(crate) use engine::HashEngine;
pub(crate) use reference::alone;
pub(crate) use script::play;

use reference::{Course, bill};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use superfluid_core::sched::{
    Class, Config, Event, Finish, Job, JobId, RowResult, Rows, Scheduler, Step, StepFault, StepOutcome,
    Token, Usage, Want,
};
use superfluid_core::{Duration, Instant, Refusal};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Finished(Finish, Usage),
    Failed(Refusal),
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) job: Job,
    pub(crate) tokens: Vec<Token>,
    pub(crate) started: Option<u32>,
    /// Lowest position that a completed step ran for it.
    pub(crate) ran_from: Option<u32>,
    /// Tokens that completed steps ran for it.
    pub(crate) ran: usize,
    pub(crate) cancelled: bool,
    pub(crate) ending: Option<Ending>,
}

/// The scheduler, an engine, and the book.
pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    pub(crate) engine: HashEngine,
    pub(crate) now: Instant,
    pub(crate) step: Option<Step>,
    pub(crate) steps: Vec<Step>,
    /// Every input and every decision, a line each.
    pub(crate) log: String,
    /// Jobs by id; one that reuses an id follows the one that ended.
    pub(crate) book: BTreeMap<JobId, Vec<Entry>>,
    /// Whether the world broke something, so that jobs may fail.
    pub(crate) faulty: bool,
    class_lanes: [u32; 3],
    /// By workers before.
    imported: usize,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        let scheduler = Scheduler::new(config);
        let can = *scheduler.engine();
        Self {
            scheduler,
            engine: HashEngine::new(can, can.pool_tokens),
            now: Instant::ORIGIN,
            step: None,
            steps: Vec::new(),
            log: String::new(),
            book: BTreeMap::new(),
            faulty: false,
            class_lanes: config.class_lanes,
            imported: 0,
        }
    }

    pub(crate) fn submit(&mut self, job: Job) -> Result<(), Refusal> {
        let result = self.scheduler.submit(job.clone(), self.now);
        self.note(format_args!("submit {job:?}: {result:?}"));
        if result.is_ok() {
            let entry = Entry {
                job,
                tokens: Vec::new(),
                started: None,
                ran_from: None,
                ran: 0,
                cancelled: false,
                ending: None,
            };
            self.book.entry(entry.job.id).or_default().push(entry);
        }
        self.drain();
        result
    }

    pub(crate) fn cancel(&mut self, id: JobId) -> bool {
        let alive = self.scheduler.cancel(id, self.now);
        self.note(format_args!("cancel {id:?}: {alive}"));
        if alive {
            self.entry(id).cancelled = true;
        }
        self.drain();
        assert!(!self.scheduler.contains(id), "{id:?} lives after its cancel");
        alive
    }

    /// Completes the step in flight, after `elapsed`; `faults` says which entries fail.
    pub(crate) fn complete(&mut self, elapsed: Duration, faults: &dyn Fn(usize) -> bool) {
        let Some(step) = self.step.take() else { return };
        if !self.engine.lost.is_empty() {
            self.step = Some(step);
            self.give_up(0);
            return;
        }
        if !self.engine.has_room(&step) {
            self.step = Some(step);
            self.fail(StepFault::Capacity);
            return;
        }
        let results = step.rows.iter().enumerate().map(|(at, rows)| {
            if faults(at) {
                self.engine.breaks(rows);
                self.faulty = true;
                return RowResult::Fault { refusal: Refusal::new("row_fault", "the row broke") };
            }
            let (token, end) = self.engine.feed(rows);
            match rows.want {
                Want::Nothing => RowResult::Fed,
                Want::Token => RowResult::Token { token, end },
            }
        });
        let result = Ok(results.collect());
        for rows in &step.rows {
            self.note_run(rows, rows.tokens.len());
        }
        self.answer(StepOutcome { id: step.id, elapsed, result });
    }

    /// Fails the step in flight.
    pub(crate) fn fail(&mut self, fault: StepFault) {
        self.fail_after(fault, Duration::from_micros(5));
    }

    fn fail_after(&mut self, fault: StepFault, elapsed: Duration) {
        let Some(step) = self.step.take() else { return };
        // The states that were lost are told, whatever else happened to the step.
        let lost = self.engine.take_lost();
        let fault = if lost.is_empty() { fault } else { StepFault::Lost { states: lost } };
        self.faulty |= !matches!(fault, StepFault::Yielded { .. } | StepFault::Lost { .. });
        self.answer(StepOutcome { id: step.id, elapsed, result: Err(fault) });
    }

    /// Gives the step in flight up at once, after so many of its tokens.
    pub(crate) fn give_up(&mut self, tokens: usize) {
        self.give_up_after(tokens, Duration::from_micros(5));
    }

    /// Gives the step in flight up after so many of its tokens, as far as an engine can: whole entries
    /// first, and none that wants a token.
    pub(crate) fn give_up_after(&mut self, mut tokens: usize, elapsed: Duration) {
        let Some(step) = &self.step else { return };
        if !self.engine.lost.is_empty() || !self.engine.has_room(step) {
            tokens = 0;
        }
        let mut fed = Vec::new();
        for rows in &self.step.clone().expect("a step").rows {
            let most = rows.tokens.len() - usize::from(rows.want == Want::Token);
            let take = most.min(tokens);
            tokens -= take;
            fed.push(take as u32);
            if take > 0 {
                self.engine.feed(&Rows { tokens: rows.tokens[..take].to_vec(), ..rows.clone() });
                self.note_run(rows, take);
            }
        }
        self.fail_after(StepFault::Yielded { fed }, elapsed);
    }

    fn note_run(&mut self, rows: &Rows, tokens: usize) {
        // A job that took the id of one cancelled in this step has not started.
        let entry = self.entry(rows.job);
        if entry.started.is_some() {
            entry.ran += tokens;
            entry.ran_from = Some(entry.ran_from.map_or(rows.start, |from| from.min(rows.start)));
        }
    }

    /// A new worker in place of one that died. Its jobs have failed.
    pub(crate) fn succeed(&mut self, config: Config) {
        self.check_all_ended();
        self.note(format_args!("a new worker"));
        self.imported += self.engine.imported;
        self.scheduler = Scheduler::new(config);
        self.engine = HashEngine::new(self.engine.can, self.engine.can.pool_tokens);
        self.step = None;
    }

    /// Tokens that came back from host memory.
    pub(crate) fn imported(&self) -> usize {
        self.imported + self.engine.imported
    }

    fn answer(&mut self, outcome: StepOutcome) {
        self.now = self.now + outcome.elapsed;
        self.note(format_args!("{outcome:?}"));
        self.scheduler.handle_outcome(outcome, self.now).expect("an outcome that fits");
        self.drain();
    }

    /// One whole step, at a microsecond a token and ten for the pass.
    pub(crate) fn tick(&mut self) {
        let tokens = self.step.iter().flat_map(|step| &step.rows).map(|rows| rows.tokens.len() as u64);
        let elapsed = Duration::from_micros(10 + tokens.sum::<u64>());
        self.complete(elapsed, &|_| false);
    }

    /// The job's client takes nothing any more, or again.
    pub(crate) fn pause(&mut self, id: JobId, pause: bool) -> bool {
        let changed = match pause {
            true => self.scheduler.pause(id, self.now),
            false => self.scheduler.resume(id, self.now),
        };
        self.note(format_args!("pause {id:?} {pause}: {changed}"));
        self.drain();
        changed
    }

    /// Whole steps until nothing is left to do, every client taking what there is.
    pub(crate) fn run(&mut self) {
        for id in self.book.keys().copied().collect::<Vec<_>>() {
            self.pause(id, false);
        }
        assert_eq!(self.scheduler.paused(), 0);
        for _ in 0..100_000 {
            if self.step.is_none() {
                self.check_all_ended();
                return;
            }
            self.tick();
        }
        panic!("no end after 100,000 steps");
    }

    /// Drains every poll in the documented order, checks what must hold, and keeps the book.
    fn drain(&mut self) {
        self.scheduler.check_invariants().expect("invariants");
        while let Some(step) = self.scheduler.poll_step(self.now) {
            self.note(format_args!("{step:?}"));
            self.engine.begin(&step);
            self.steps.push(step.clone());
            assert!(self.step.replace(step).is_none(), "two steps in flight");
        }
        while let Some(event) = self.scheduler.poll_event() {
            self.note(format_args!("{event:?}"));
            self.happened(event);
        }
        assert!(self.scheduler.poll_timeout().is_none());
        assert_eq!(self.scheduler.cells_used() as usize, self.engine.held(), "cells");
        if self.engine.lost.is_empty() {
            assert_eq!(self.scheduler.host_bytes(), self.engine.host_bytes(), "host memory");
        }
        self.scheduler.check_invariants().expect("invariants");
        for (class, most) in Class::ALL.into_iter().zip(self.class_lanes) {
            assert!(
                self.scheduler.running(class) <= most.max(1) as usize,
                "{class:?} has more than {most} lanes"
            );
        }
        assert_eq!(self.step.is_none(), self.scheduler.is_resting(), "work is left, but no step is planned");
    }

    fn happened(&mut self, event: Event) {
        let (Event::Started { job, .. }
        | Event::Token { job, .. }
        | Event::Finished { job, .. }
        | Event::Failed { job, .. }) = event;
        let (can, faulty) = (self.engine.can, self.faulty);
        let entry = self.entry(job);
        assert_eq!(entry.ending, None, "{event:?} after the end");
        match event {
            Event::Started { cached, .. } => {
                assert_eq!(entry.started.replace(cached), None, "started twice");
            }
            Event::Token { token, position, .. } => {
                assert!(entry.started.is_some(), "a token before the start");
                assert!(!entry.cancelled, "a token after the cancel");
                assert_eq!(position as usize, entry.job.prompt.len() + entry.tokens.len(), "position");
                entry.tokens.push(token);
                let course = alone(&entry.job, &can);
                assert!(course.tokens.starts_with(&entry.tokens), "{job:?} says what it would not say alone");
            }
            Event::Finished { finish, usage, .. } => {
                let charged = Usage { cached: 0, ..usage };
                assert_eq!(charged, bill(&entry.job, entry.tokens.len()), "usage");
                if finish == Finish::Cancelled {
                    assert!(entry.cancelled, "cancelled by nobody");
                } else {
                    let said = Course { tokens: entry.tokens.clone(), finish };
                    assert_eq!(said, alone(&entry.job, &can), "{job:?}");
                    let cached = entry.ran_from.unwrap_or(0).min(usage.prompt);
                    assert_eq!(usage.cached, cached, "cached tokens are those never run");
                }
                entry.ending = Some(Ending::Finished(finish, usage));
            }
            Event::Failed { refusal, .. } => {
                assert!(faulty, "{job:?} failed, but nothing was broken: {refusal}");
                entry.ending = Some(Ending::Failed(refusal));
            }
        }
    }

    pub(crate) fn check_all_ended(&self) {
        for (id, entries) in &self.book {
            assert!(entries.iter().all(|entry| entry.ending.is_some()), "{id:?} was lost");
        }
    }

    /// The job that has, or had last, this id.
    pub(crate) fn entry(&mut self, id: JobId) -> &mut Entry {
        self.book.get_mut(&id).and_then(|entries| entries.last_mut()).expect("a known job")
    }

    /// The job that has, or had last, this id.
    pub(crate) fn entry_of(&self, id: JobId) -> &Entry {
        self.book[&id].last().expect("a known job")
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        writeln!(self.log, "{:?} {what}", self.now).expect("a string takes all");
    }
}
