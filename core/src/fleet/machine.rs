//! The machine.

use super::config::{Config, Listed};
use super::entry::{Entry, Failure, State};
use super::event::{AskId, Effect, Event, Gone, Load, ModelIx, RequestId, Standing, Wake};
use super::reason;
use crate::machine::{Broken, Misuse};
use crate::refusal::Refusal;
use crate::supervise::is_permanent;
use crate::time::{Clock, Instant};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Serve,
    Drain,
    Stop,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    model: usize,
    /// `None` while it waits.
    load: Option<Load>,
}

/// The machine of [`fleet`](super). After each input drain `poll_effect`, then `poll_event`, then wait
/// for the next input or `poll_timeout`.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(super) config: Config,
    clock: Clock,
    goal: Goal,
    told: bool,
    cut: u64,
    pub(super) entries: Vec<Entry>,
    requests: BTreeMap<RequestId, At>,
    pub(super) wishes: u64,
    pub(super) last_load: Load,
    /// Loads that [`new`](Self::new) began: those numbered up to this.
    begun: Load,
    /// How many of them have failed or were given up.
    begun_gone: u64,
    pub(super) effects: VecDeque<Effect>,
    events: VecDeque<Event>,
}

/// Getters.
impl Fleet {
    /// A fleet of these models. Those asked for at the start are loaded as far as there is room for
    /// them; the others, like every other model, on their first use.
    pub fn new(config: Config, models: impl IntoIterator<Item = Listed>, now: Instant) -> Self {
        let mut clock = Clock::default();
        let now = clock.advance(now);
        let entries = models.into_iter().map(|model| Entry::new(model.id, model.at_start, now)).collect();
        let mut new = Self {
            config,
            clock,
            goal: Goal::Serve,
            told: false,
            cut: 0,
            entries,
            requests: BTreeMap::new(),
            wishes: 0,
            last_load: Load(0),
            begun: Load(0),
            begun_gone: 0,
            effects: VecDeque::new(),
            events: VecDeque::new(),
        };
        let most = config.loaded_max.unwrap_or(usize::MAX).max(1);
        for at in 0..new.entries.len() {
            if new.entries[at].at_start && new.loads() < most {
                new.entries[at].patient = false;
                new.start(at);
            }
        }
        new.begun = new.last_load;
        new
    }

    /// The model with this id.
    pub fn find(&self, id: &str) -> Option<ModelIx> {
        self.entries.iter().position(|entry| entry.id == id).map(ModelIx)
    }

    /// Where a model stands.
    pub fn standing(&self, model: ModelIx) -> Standing {
        self.entries.get(model.0).map_or(Standing::Unloaded, Entry::standing)
    }

    /// Why a model is [`Standing::Failed`], as requests for it learn.
    pub fn failure(&self, model: ModelIx) -> Option<&Refusal> {
        Some(&self.entries.get(model.0)?.failure.as_ref()?.refusal)
    }

    /// Requests that wait for a model to be loaded.
    pub fn waiting(&self, model: ModelIx) -> usize {
        self.entries.get(model.0).map_or(0, |entry| entry.pending.len())
    }

    /// Whether every model asked for at the start has been loaded or can be, and none has failed.
    pub fn is_ready(&self) -> bool {
        let settled = |entry: &Entry| {
            entry.failure.is_none() && (entry.proven || !matches!(entry.state, State::Loading { .. }))
        };
        self.goal == Goal::Serve && self.entries.iter().filter(|entry| entry.at_start).all(settled)
    }

    /// Whether requests are taken; not after `drain` or `stop`.
    pub fn serves(&self) -> bool {
        self.goal == Goal::Serve
    }

    /// Checks what must always hold.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        for (at, entry) in self.entries.iter().enumerate() {
            let broken = |what: &str| Err(Broken(format!("{what}: {entry:?}")));
            let with = |load| self.requests.values().filter(|r| r.model == at && r.load == load).count();
            if entry.pending.len() != with(None) {
                return broken("a request that waits is not known");
            }
            if entry.load().is_some_and(|load| entry.running != with(Some(load))) {
                return broken("the requests that run are miscounted");
            }
            let still = matches!(entry.state, State::Unloaded | State::Up { .. });
            if still && entry.is_wanted() {
                return broken("somebody waits for nothing");
            }
            if matches!(entry.state, State::Queued { .. }) && !entry.is_wanted() {
                return broken("a load nobody wants is in line");
            }
            if !self.serves() && (!matches!(entry.state, State::Unloaded | State::Closing { .. })) {
                return broken("it stays though all go");
            }
            if entry.pending.len() > self.config.waiting_max {
                return broken("too many wait");
            }
        }
        let most = self.config.loaded_max.unwrap_or(usize::MAX).max(1);
        if self.loads() > most {
            return Err(Broken(format!("{} models are loaded, at most {most} may be", self.loads())));
        }
        Ok(())
    }
}

/// The world happened.
impl Fleet {
    /// The model is loaded and takes requests.
    ///
    /// # Errors
    /// [`Misuse::UnknownEffect`] where no such load is under way or it was ready before.
    pub fn handle_ready(&mut self, load: Load, now: Instant) -> Result<(), Misuse> {
        let at = self.at(load)?;
        let entry = &mut self.entries[at];
        match entry.state {
            State::Loading { .. } => {}
            // It was told to end while it came up.
            State::Closing { .. } => return Ok(()),
            _ => return Err(Misuse::UnknownEffect(load.0)),
        }
        let now = self.clock.advance(now);
        entry.state = State::Up { load };
        entry.proven = true;
        entry.patient = true;
        entry.used = now;
        for ask in core::mem::take(&mut entry.loads) {
            self.events.push_back(Event::Answered { ask, refusal: None });
        }
        for (request, _) in core::mem::take(&mut entry.pending) {
            entry.running += 1;
            self.requests.insert(request, At { model: at, load: Some(load) });
            self.events.push_back(Event::Go { request, load });
        }
        self.arrange(now);
        Ok(())
    }

    /// The load is over. Requests that went to it are the worker's to end.
    ///
    /// # Errors
    /// [`Misuse::UnknownEffect`] where no such load is under way.
    pub fn handle_gone(&mut self, load: Load, gone: Gone, now: Instant) -> Result<(), Misuse> {
        let at = self.at(load)?;
        let now = self.clock.advance(now);
        let entry = &mut self.entries[at];
        let was = entry.state;
        entry.state = State::Unloaded;
        entry.patient = true;
        entry.running = 0;
        entry.used = now;
        for ask in core::mem::take(&mut entry.unloads) {
            self.events.push_back(Event::Answered { ask, refusal: None });
        }
        if let Gone::Stopped { cut } = gone {
            self.cut += cut;
        }
        match gone {
            // A worker that fails on its way out has done what was asked of it.
            Gone::Failed { refusal } if !matches!(was, State::Closing { .. }) => {
                // A worker that can't load its model again is as one that never could: it may heal.
                let loads = matches!(was, State::Loading { .. }) || is_permanent(&refusal.code);
                let (refusal, until) = if loads {
                    (reason::not_loaded(&entry.id, &refusal), Some(now + self.config.retry))
                } else {
                    (reason::given_up(&entry.id, &refusal), None)
                };
                entry.failure = Some(Failure { refusal: refusal.clone(), until });
                self.refuse_waiting(at, &refusal);
            }
            _ if self.goal == Goal::Serve && entry.is_wanted() => self.want(at),
            _ => {}
        }
        self.arrange(now);
        self.tell_stopped();
        self.tell_hopeless(load);
        Ok(())
    }

    /// Time passed; call at the instant `poll_timeout` names.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.advance(now);
        for entry in &mut self.entries {
            let late = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
            for (request, _) in entry.pending.iter().filter(|(_, deadline)| late(*deadline)) {
                self.requests.remove(request);
                self.events.push_back(Event::Refused { request: *request, refusal: reason::late() });
            }
            entry.pending.retain(|(_, deadline)| !late(*deadline));
        }
        self.leave_line();
        self.arrange(now);
    }
}

/// Someone asks.
impl Fleet {
    /// A request for a model. What comes of it arrives as an event; until then it may be given up with
    /// [`done`](Self::done), and after [`Event::Go`] it must be, once it is over.
    ///
    /// # Errors
    /// [`Misuse::DuplicateId`].
    pub fn request(
        &mut self,
        request: RequestId,
        model: &str,
        deadline: Option<Instant>,
        now: Instant,
    ) -> Result<(), Misuse> {
        if self.requests.contains_key(&request) {
            return Err(Misuse::DuplicateId(request.0));
        }
        let now = self.clock.advance(now);
        let at = match self.judge(model, now) {
            Ok(at) => at,
            Err(refusal) => {
                self.events.push_back(Event::Refused { request, refusal });
                return Ok(());
            }
        };
        let entry = &mut self.entries[at];
        entry.used = now;
        if let State::Up { load } = entry.state {
            entry.running += 1;
            self.requests.insert(request, At { model: at, load: Some(load) });
            self.events.push_back(Event::Go { request, load });
            return Ok(());
        }
        entry.pending.push_back((request, deadline));
        self.requests.insert(request, At { model: at, load: None });
        self.want(at);
        self.arrange(now);
        Ok(())
    }

    /// A request is over, or given up while it waited. One that is not known changes nothing.
    pub fn done(&mut self, request: RequestId, now: Instant) {
        let now = self.clock.advance(now);
        let Some(at) = self.requests.remove(&request) else { return };
        let entry = &mut self.entries[at.model];
        match at.load {
            None => {
                entry.pending.retain(|(pending, _)| *pending != request);
                self.leave_line();
            }
            Some(load) if entry.load() == Some(load) => {
                entry.running -= 1;
                entry.used = now;
            }
            Some(_) => {}
        }
        self.arrange(now);
    }

    /// Load a model, also one that has failed. Answered when it is up, or can't be.
    pub fn load(&mut self, ask: AskId, model: &str, now: Instant) {
        let now = self.clock.advance(now);
        let refusal = match self.find(model) {
            _ if !self.serves() => Some(reason::draining()),
            None => Some(self.unknown(model)),
            Some(ModelIx(at)) if matches!(self.entries[at].state, State::Up { .. }) => None,
            Some(ModelIx(at)) => {
                self.entries[at].loads.push(ask);
                self.want(at);
                self.arrange(now);
                return;
            }
        };
        self.events.push_back(Event::Answered { ask, refusal });
    }

    /// Unload a model once its running requests are over; its next request loads it again. A load
    /// that is under way is given up. Answered when it is gone.
    pub fn unload(&mut self, ask: AskId, model: &str, now: Instant) {
        let now = self.clock.advance(now);
        let Some(ModelIx(at)) = self.find(model) else {
            let refusal = Some(self.unknown(model));
            self.events.push_back(Event::Answered { ask, refusal });
            return;
        };
        let refusal = reason::unloaded(&self.entries[at].id);
        let entry = &mut self.entries[at];
        match entry.state {
            State::Unloaded => self.events.push_back(Event::Answered { ask, refusal: None }),
            State::Queued { .. } => {
                entry.state = State::Unloaded;
                self.events.push_back(Event::Answered { ask, refusal: None });
                self.refuse_waiting(at, &refusal);
            }
            State::Loading { load } => {
                entry.unloads.push(ask);
                entry.state = State::Closing { load };
                self.effects.push_back(Effect::Stop { load });
                self.refuse_waiting(at, &refusal);
            }
            State::Up { load } => {
                entry.unloads.push(ask);
                entry.state = State::Emptying { load };
            }
            State::Emptying { .. } | State::Closing { .. } => entry.unloads.push(ask),
        }
        self.arrange(now);
    }

    /// Take nothing new, finish what runs, end every load.
    pub fn drain(&mut self, now: Instant) {
        self.clock.advance(now);
        if self.goal == Goal::Serve {
            self.goal = Goal::Drain;
            self.end(|load| Effect::Drain { load });
        }
    }

    /// End every load now.
    pub fn stop(&mut self, now: Instant) {
        self.clock.advance(now);
        if self.goal != Goal::Stop {
            self.goal = Goal::Stop;
            self.end(|load| Effect::Stop { load });
        }
    }
}

/// What it wants.
impl Fleet {
    /// A load to start or end.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When `handle_timeout` is due, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, Wake)> {
        let deadlines = self.entries.iter().flat_map(|entry| &entry.pending);
        let deadlines = deadlines.filter_map(|(_, deadline)| Some(((*deadline)?, Wake::Deadline)));
        let idle = self.config.idle.filter(|_| self.serves());
        let idle = idle.into_iter().flat_map(|idle| {
            self.entries.iter().filter(|entry| entry.is_idle()).map(move |e| (e.used + idle, Wake::Idle))
        });
        deadlines.chain(idle).min()
    }
}

impl Fleet {
    fn at(&self, load: Load) -> Result<usize, Misuse> {
        let found = self.entries.iter().position(|entry| entry.load() == Some(load));
        found.ok_or(Misuse::UnknownEffect(load.0))
    }

    fn unknown(&self, model: &str) -> Refusal {
        reason::unknown(model, self.entries.iter().map(|entry| entry.id.as_str()))
    }

    /// The model a request goes to or waits for.
    fn judge(&self, model: &str, now: Instant) -> Result<usize, Refusal> {
        if !self.serves() {
            return Err(reason::draining());
        }
        let Some(ModelIx(at)) = self.find(model) else { return Err(self.unknown(model)) };
        let entry = &self.entries[at];
        if let Some(failure) = &entry.failure
            && failure.until.is_none_or(|until| now < until)
        {
            return Err(failure.refusal.clone());
        }
        if !entry.patient && matches!(entry.state, State::Loading { .. }) {
            return Err(reason::loading());
        }
        let waits = !matches!(entry.state, State::Up { .. });
        if waits && entry.pending.len() >= self.config.waiting_max {
            return Err(reason::full(&entry.id, entry.pending.len()));
        }
        Ok(at)
    }

    /// Who waited in line for nobody any more leaves it.
    fn leave_line(&mut self) {
        for entry in &mut self.entries {
            if matches!(entry.state, State::Queued { .. }) && !entry.is_wanted() {
                entry.state = State::Unloaded;
            }
        }
    }

    fn refuse_waiting(&mut self, at: usize, refusal: &Refusal) {
        let entry = &mut self.entries[at];
        for ask in core::mem::take(&mut entry.loads) {
            self.events.push_back(Event::Answered { ask, refusal: Some(refusal.clone()) });
        }
        for (request, _) in core::mem::take(&mut entry.pending) {
            self.requests.remove(&request);
            self.events.push_back(Event::Refused { request, refusal: refusal.clone() });
        }
    }

    fn end(&mut self, how: impl Fn(Load) -> Effect) {
        for at in 0..self.entries.len() {
            self.refuse_waiting(at, &reason::draining());
            let entry = &mut self.entries[at];
            match entry.load() {
                None => entry.state = State::Unloaded,
                Some(load) => {
                    entry.state = State::Closing { load };
                    self.effects.push_back(how(load));
                }
            }
        }
        self.tell_stopped();
    }

    fn tell_stopped(&mut self) {
        if !self.serves() && !self.told && self.loads() == 0 {
            self.told = true;
            self.events.push_back(Event::Stopped { cut: self.cut });
        }
    }

    /// Told at most once, by the last of the loads of the start: what requests load later decides
    /// nothing about the server.
    fn tell_hopeless(&mut self, gone: Load) {
        if gone > self.begun {
            return;
        }
        self.begun_gone += 1;
        let failed = |entry: &Entry| entry.standing() == Standing::Failed && !entry.proven;
        if self.serves() && self.begun_gone == self.begun.0 && self.entries.iter().all(failed) {
            self.events.push_back(Event::Hopeless);
        }
    }
}
