//! Pulls one model: take its lock, ask the hub, fetch what is missing, verify, place, say where.
//!
//! Nothing is undone when a pull ends early. A blob is in its place only whole and verified, a
//! snapshot's links come after all of its blobs and the revision last, and what has come of an
//! unfinished file is gone on with by the next pull.
//!
//! Law of use: after each call drain [`Machine::poll_event`], then [`Machine::poll_effect`]. One
//! effect is in flight at a time. There are no deadlines here: effects carry their own time limits.

mod answer;
mod effect;
mod failure;

pub use answer::{judge_fetch, refused};
pub use effect::{Action, Answer, Effect, Event, Outcome, Place, Pulled};

use super::hub::{self, HubFile, HubListing};
use super::{Endpoint, ModelId, Revision, cache, choose};
use crate::install::machine::{Attempts, Fault};
use crate::machine::{Broken, EffectId, Misuse};
use crate::refusal::Refusal;
use crate::runtime::format::Format;
use crate::time::{Clock, Instant};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Longest wait for a connection, in milliseconds.
const CONNECT_MS: u64 = 20_000;
/// Longest wait for the next bytes, in milliseconds.
const STALL_MS: u64 = 60_000;

/// What a pull needs to know of its user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The hub.
    pub endpoint: Endpoint,
    /// Whether there is a token. The token itself stays with the driver.
    pub token: bool,
}

#[derive(Debug)]
enum Phase {
    Locking,
    Asking,
    Looking,
    /// The file of this index comes.
    Fetching(usize),
    /// It goes to its place.
    Keeping(usize),
    /// It was not what it was to be; then it comes again, or the pull ends.
    Discarding(usize, Option<Refusal>),
    Linking(usize),
    Writing,
    Unlocking(Result<Pulled, Refusal>),
    Ended(Result<Pulled, Refusal>),
}

/// What is to be there in the end.
#[derive(Debug, Default)]
struct Plan {
    commit: String,
    open: String,
    files: Vec<HubFile>,
    places: Vec<Place>,
    fetched: u64,
}

/// One pull. See the module's documentation.
#[derive(Debug)]
pub struct Machine {
    clock: Clock,
    ids: EffectId,
    phase: Phase,
    pending: Option<Effect>,
    in_flight: Option<Effect>,
    events: VecDeque<Event>,
    id: ModelId,
    revision: Revision,
    format: Format,
    settings: Settings,
    plan: Plan,
    /// Of the present request.
    attempts: Attempts,
    /// Whether the present file was begun anew since what had come was of another.
    restarted: bool,
    cancelled: bool,
}

impl Machine {
    /// Pulls what `id` names at `revision`, in `format`.
    pub fn new(id: ModelId, revision: Revision, format: Format, settings: Settings) -> Self {
        let path = cache::lock(&id);
        let mut machine = Self {
            clock: Clock::default(),
            ids: EffectId::default(),
            phase: Phase::Locking,
            pending: None,
            in_flight: None,
            events: VecDeque::new(),
            id,
            revision,
            format,
            settings,
            plan: Plan::default(),
            attempts: Attempts::default(),
            restarted: false,
            cancelled: false,
        };
        machine.ask(Action::Lock { path, wait: false });
        machine
    }

    /// What came of the pull, once it has ended.
    pub fn result(&self) -> Option<&Result<Pulled, Refusal>> {
        match &self.phase {
            Phase::Ended(result) => Some(result),
            _ => None,
        }
    }

    /// Whether nothing is left to do.
    pub fn is_ended(&self) -> bool {
        self.result().is_some()
    }

    /// An effect has been carried out, or has failed.
    pub fn handle_done(&mut self, id: EffectId, outcome: Outcome, now: Instant) -> Result<(), Misuse> {
        let Some(effect) = self.in_flight.take_if(|effect| effect.id == id) else {
            return Err(Misuse::UnknownEffect(id.0));
        };
        if !fits(&effect.action, &outcome) {
            self.in_flight = Some(effect);
            return Err(Misuse::WrongOutcome(id.0));
        }
        self.clock.advance(now);
        self.answer(outcome);
        Ok(())
    }

    /// So many bytes of the effect in flight are done, for progress alone.
    pub fn handle_progress(&mut self, id: EffectId, done: u64, now: Instant) -> Result<(), Misuse> {
        let Some(effect) = self.in_flight.as_ref().filter(|effect| effect.id == id) else {
            return Err(Misuse::UnknownEffect(id.0));
        };
        self.clock.advance(now);
        if let Action::Fetch { size, .. } = &effect.action {
            // Only the latest matters; a driver that drains slowly gets no backlog.
            if matches!(self.events.back(), Some(Event::Progress { .. })) {
                self.events.pop_back();
            }
            self.events.push_back(Event::Progress { done, total: *size });
        }
        Ok(())
    }

    /// Gives the pull up at the next answer. What has come stays for the next one.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next effect to carry out.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        let effect = self.pending.take()?;
        self.in_flight = Some(effect.clone());
        Some(effect)
    }

    /// Checks what must hold between any two calls.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        let broken = |what: &str| Err(Broken(what.to_string()));
        if self.pending.is_some() && self.in_flight.is_some() {
            return broken("two effects at once");
        }
        let idle = self.pending.is_none() && self.in_flight.is_none();
        if idle != self.is_ended() {
            return broken("a pull waits for nothing, or an ended one still wants something");
        }
        Ok(())
    }

    fn ask(&mut self, action: Action) {
        let id = self.ids.take_next();
        self.pending = Some(Effect { id, action });
    }

    fn answer(&mut self, outcome: Outcome) {
        let phase = core::mem::replace(&mut self.phase, Phase::Locking);
        let over = matches!(phase, Phase::Unlocking(_) | Phase::Ended(_));
        let locked = !matches!((&phase, &outcome), (Phase::Locking, Outcome::Busy | Outcome::Failed(_)));
        if self.cancelled && !over {
            let refusal = failure::cancelled();
            return if locked { self.fail(refusal) } else { self.end(Err(refusal)) };
        }
        match (phase, outcome) {
            (Phase::Locking, Outcome::Busy) => {
                self.events.push_back(Event::Waiting);
                self.ask(Action::Lock { path: cache::lock(&self.id), wait: true });
            }
            (Phase::Locking, Outcome::Failed(fault)) => self.end(Err(failure::explain(&fault))),
            (Phase::Locking, _) => self.ask_hub(0),
            (Phase::Asking, Outcome::Answered(answer)) if answer.status == 200 => {
                if let Err(refusal) = self.listed(&answer.body) {
                    self.fail(refusal);
                }
            }
            (Phase::Asking, Outcome::Answered(answer)) => {
                let what = self.id.repo();
                match self.again(&what, &answer::as_fault(&answer)) {
                    Some((after, _)) => self.ask_hub(after),
                    None => self.fail(refused(&self.id, &self.settings, &what, &answer)),
                }
            }
            (Phase::Asking, Outcome::Failed(fault)) => match self.again(&self.id.repo(), &fault) {
                Some((after, _)) => self.ask_hub(after),
                None => self.fail(failure::unreachable(&self.id.repo(), &self.settings.endpoint, &fault)),
            },
            (Phase::Looking, Outcome::Looked { places, free }) => self.looked(places, free),
            (Phase::Fetching(at), outcome) => self.fetched(at, &outcome),
            (Phase::Discarding(_, Some(refusal)), _) => self.fail(refusal),
            (_, Outcome::Failed(fault)) => self.fail(failure::explain(&fault)),
            (Phase::Keeping(at), _) => self.file(at + 1),
            (Phase::Discarding(at, None), _) => self.fetch(at, 0, None),
            (Phase::Linking(at), _) => self.link(at + 1),
            (Phase::Writing, _) => self.done(),
            (Phase::Unlocking(result), _) => self.end(result),
            (phase, _) => self.phase = phase,
        }
    }

    fn ask_hub(&mut self, after_ms: u64) {
        self.phase = Phase::Asking;
        let url = hub::listing_url(&self.settings.endpoint, &self.id, &self.revision);
        let max = hub::LISTING_MAX;
        self.ask(Action::Ask { url, max, after_ms, connect_ms: CONNECT_MS, stall_ms: STALL_MS });
    }

    /// The wait before the present request is made again and where it goes on, where it is.
    fn again(&mut self, name: &str, fault: &Fault) -> Option<(u64, Option<crate::install::machine::Resume>)> {
        let (after_ms, resume) = self.attempts.next(fault)?;
        self.events.push_back(Event::Retrying {
            name: name.into(),
            why: fault.message.clone(),
            after_ms,
            have: resume.as_ref().map_or(0, |resume| resume.have),
        });
        Some((after_ms, resume))
    }

    fn listed(&mut self, body: &str) -> Result<(), Refusal> {
        let listing = HubListing::parse(&self.id, body)?;
        let chosen = choose(&self.id, self.format, &listing.paths())?;
        let file = |path: &String| listing.file(&self.id, path).cloned();
        let files = chosen.files.iter().map(file).collect::<Result<Vec<HubFile>, Refusal>>()?;
        let mut bytes: u64 = 0;
        for file in &files {
            bytes = bytes.checked_add(file.size).ok_or_else(|| failure::absurd(&self.id))?;
        }
        self.events.push_back(Event::Listed {
            model: self.id.to_string(),
            commit: listing.commit.clone(),
            files: files.len() as u64,
            bytes,
        });
        let at = |file: &HubFile| {
            let digest = file.digest.hex();
            (cache::blob(&self.id, digest), cache::partial(&self.id, digest))
        };
        let blobs = files.iter().map(at).collect();
        self.plan = Plan { commit: listing.commit, open: chosen.open, files, ..Plan::default() };
        self.phase = Phase::Looking;
        self.ask(Action::Look { blobs });
        Ok(())
    }

    fn looked(&mut self, places: Vec<Place>, free: Option<u64>) {
        if places.len() != self.plan.files.len() {
            return self.fail(Refusal::new("internal", "the cache was looked at in part"));
        }
        self.plan.places = places;
        let missing = |(file, place): (&HubFile, &Place)| match place.whole {
            Some(whole) if whole == file.size => 0,
            _ => file.size.saturating_sub(place.partial.unwrap_or(0)),
        };
        let needed: u64 = self.plan.files.iter().zip(&self.plan.places).map(missing).sum();
        match free {
            Some(free) if free < needed => self.fail(failure::no_room(&self.id, needed, free)),
            _ => self.file(0),
        }
    }

    /// Goes on with the file at this index.
    fn file(&mut self, from: usize) {
        for at in from..self.plan.files.len() {
            let (file, place) = (&self.plan.files[at], self.plan.places[at]);
            let twin = self.plan.files[..at].iter().any(|other| other.digest == file.digest);
            if place.whole != Some(file.size) && !twin {
                let have = place.partial.filter(|have| *have <= file.size && *have > 0);
                self.attempts = Attempts::default();
                self.restarted = false;
                self.attempts.broke(have.unwrap_or(0), None, Some(file.size));
                self.events.push_back(Event::Fetching {
                    name: file.path.clone(),
                    size: file.size,
                    have: have.unwrap_or(0),
                    from: self.settings.endpoint.host().into(),
                });
                self.plan.fetched += file.size - have.unwrap_or(0);
                return self.fetch(at, 0, have);
            }
            self.events.push_back(Event::Present { name: file.path.clone() });
        }
        self.link(0);
    }

    fn fetch(&mut self, at: usize, after_ms: u64, have: Option<u64>) {
        let Some(file) = self.plan.files.get(at) else { return self.link(0) };
        let digest = file.digest.hex();
        let action = Action::Fetch {
            name: file.path.clone(),
            url: hub::file_url(&self.settings.endpoint, &self.id, &self.plan.commit, &file.path),
            to: cache::partial(&self.id, digest),
            lock: cache::blob_lock(&self.id, digest),
            size: file.size,
            digest: file.digest.clone(),
            resume: have.map(|have| crate::install::machine::Resume { have, validator: None }),
            after_ms,
            connect_ms: CONNECT_MS,
            stall_ms: STALL_MS,
        };
        self.phase = Phase::Fetching(at);
        self.ask(action);
    }

    fn fetched(&mut self, at: usize, outcome: &Outcome) {
        let file = self.plan.files[at].clone();
        let fault = match outcome {
            Outcome::Fetched { bytes, hash } if *bytes == file.size && *hash == file.digest.hex() => {
                self.events.push_back(Event::Verified { name: file.path.clone(), digest: hash.clone() });
                let digest = file.digest.hex();
                let (from, to) = (cache::partial(&self.id, digest), cache::blob(&self.id, digest));
                self.phase = Phase::Keeping(at);
                return self.ask(Action::Keep { from, to });
            }
            Outcome::Fetched { hash, .. } => {
                // What had come before may be of another file, or spoilt.
                let first = self.plan.places[at].partial.is_some_and(|have| have > 0) && !self.restarted;
                self.restarted = true;
                let end = (!first).then(|| failure::wrong_digest(&file, hash));
                self.phase = Phase::Discarding(at, end);
                return self.ask(Action::Discard { path: cache::partial(&self.id, file.digest.hex()) });
            }
            Outcome::Answered(answer) => answer::as_fault(answer),
            Outcome::Broken { fault, have } => {
                self.attempts.broke(*have, None, Some(file.size));
                fault.clone()
            }
            Outcome::Failed(fault) => fault.clone(),
            _ => return self.fail(Refusal::new("internal", "a fetch brought something else")),
        };
        if let Some((after_ms, resume)) = self.again(&file.path, &fault) {
            return self.fetch(at, after_ms, resume.map(|resume| resume.have));
        }
        let what = format!("{} of {}", file.path, self.id.repo());
        self.fail(match outcome {
            Outcome::Answered(answer) => refused(&self.id, &self.settings, &what, answer),
            _ => failure::unreachable(&what, &self.settings.endpoint, &fault),
        });
    }

    fn link(&mut self, at: usize) {
        let Some(file) = self.plan.files.get(at) else { return self.write() };
        let path = format!("{}/{}", cache::snapshot(&self.id, &self.plan.commit), file.path);
        let target = cache::link_target(&file.path, file.digest.hex());
        self.phase = Phase::Linking(at);
        self.ask(Action::Link { path, target });
    }

    fn write(&mut self) {
        if self.revision.as_str() == self.plan.commit {
            return self.done();
        }
        let path = cache::reference(&self.id, &self.revision);
        self.phase = Phase::Writing;
        self.ask(Action::Write { path, text: self.plan.commit.clone() });
    }

    fn done(&mut self) {
        let plan = core::mem::take(&mut self.plan);
        let snapshot = cache::snapshot(&self.id, &plan.commit);
        let path = if plan.open.is_empty() { snapshot } else { format!("{snapshot}/{}", plan.open) };
        let pulled = Pulled {
            model: self.id.to_string(),
            commit: plan.commit,
            path,
            bytes: plan.files.iter().map(|file| file.size).sum(),
            files: plan.files.into_iter().map(|file| file.path).collect(),
            fetched: plan.fetched,
        };
        self.unlock(Ok(pulled));
    }

    fn fail(&mut self, refusal: Refusal) {
        self.unlock(Err(refusal));
    }

    fn unlock(&mut self, result: Result<Pulled, Refusal>) {
        self.phase = Phase::Unlocking(result);
        self.ask(Action::Unlock);
    }

    fn end(&mut self, result: Result<Pulled, Refusal>) {
        self.events.push_back(match &result {
            Ok(pulled) => Event::Finished(pulled.clone()),
            Err(refusal) => Event::Failed(refusal.clone()),
        });
        self.phase = Phase::Ended(result);
    }
}

/// Whether an outcome is of the kind its action brings.
fn fits(action: &Action, outcome: &Outcome) -> bool {
    match (action, outcome) {
        (Action::Lock { wait, .. }, Outcome::Busy) => !wait,
        (Action::Lock { .. }, Outcome::Locked)
        | (Action::Ask { .. }, Outcome::Answered(_))
        | (Action::Look { .. }, Outcome::Looked { .. })
        | (Action::Fetch { .. }, Outcome::Fetched { .. } | Outcome::Broken { .. } | Outcome::Answered(_))
        | (_, Outcome::Failed(_)) => true,
        (Action::Lock { .. } | Action::Ask { .. } | Action::Look { .. } | Action::Fetch { .. }, _) => false,
        (_, outcome) => *outcome == Outcome::Done,
    }
}
