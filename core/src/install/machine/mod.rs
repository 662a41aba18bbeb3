//! Places installs, pins them and removes them, so that each is whole or absent whatever happens.
//!
//! One [`Machine`] carries out one request in one runtime's directory: take the lock, look, sweep
//! what a dead run left, do the work, give the lock back. An install is staged beside the others
//! and becomes visible by one rename, after its worker's `check` has passed.
//!
//! Each effect that changes files carries its inverse. When the world fails one, the inverses of
//! those before it are asked for, last first, and the directory is as it was. A run that is killed
//! needs nobody to clean up: the next one sweeps.
//!
//! Law of use: after each call drain [`Machine::poll_event`], then [`Machine::poll_effect`]. One
//! effect is in flight at a time. There are no deadlines here: effects carry their own time limits.

mod edit;
mod effect;
mod event;
mod failure;
mod install;
mod names;
mod pip;
mod retry;
mod verdict;

pub(super) use edit::no_such as no_such_install;
pub use effect::{Action, Effect, Entry, EntryKind, Fault, FaultKind, Listing, Outcome, Resume, Run};
pub use event::{Event, Finished};
pub use install::{Purpose, Settings};
pub use retry::{Attempts, Body, judge_response, retry_after};
pub use verdict::{Verdict, judge_check, read_report};

use super::{InstallName, Plan, layout};
use crate::machine::{Broken, EffectId, Misuse};
use crate::refusal::Refusal;
use crate::time::{Clock, Instant};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use edit::Edit;
use install::Install;

/// Where a request stands.
#[derive(Debug)]
enum Phase {
    Locking,
    Listing,
    Sweeping(VecDeque<Action>),
    Working,
    Undoing(Undo),
    Tidying(VecDeque<Action>, Finished),
    Unlocking(Result<Finished, Refusal>),
    Ended(Result<Finished, Refusal>),
}

/// Why the journal is unwound.
#[derive(Debug)]
enum Undo {
    /// The request failed.
    Fail(Refusal),
    /// The next plan is tried.
    NextPlan,
}

#[derive(Debug)]
enum Work {
    Install(Box<Install>),
    Edit(Box<Edit>),
}

/// What the work wants after an answer.
enum Next {
    /// This, taken back by that.
    Act(Action, Option<Action>),
    /// Undo everything, then ask again.
    Retreat,
    /// Undo everything and end with this.
    Fail(Refusal),
    /// It is done and stays; what is left over is removed.
    Commit(Vec<Action>, Finished),
}

/// One request, being carried out. See the module's documentation.
#[derive(Debug)]
pub struct Machine {
    clock: Clock,
    ids: EffectId,
    phase: Phase,
    pending: Option<Effect>,
    in_flight: Option<Effect>,
    events: VecDeque<Event>,
    /// Inverses of what has been done, oldest first.
    journal: Vec<Action>,
    listing: Listing,
    work: Work,
    /// Leftovers are looked for once; one that cannot be removed does not hold up the work.
    swept: bool,
    cancelled: bool,
}

impl Machine {
    /// Installs the first of `plans` that stands. `plans` come from the planner, in order, all of
    /// one runtime.
    pub fn install(plans: Vec<Plan>, settings: Settings) -> Result<Self, Refusal> {
        Ok(Self::new(Work::Install(Box::new(Install::new(plans, settings)?))))
    }

    /// Pins an install as the default.
    pub fn pin(name: InstallName) -> Self {
        Self::new(Work::Edit(Box::new(Edit::pin(name))))
    }

    /// Returns the default to ranking.
    pub fn unpin() -> Self {
        Self::new(Work::Edit(Box::new(Edit::unpin())))
    }

    /// Puts back what a run that was ended had set aside, and removes what it left; see [`is_torn`].
    pub fn mend() -> Self {
        Self::new(Work::Edit(Box::new(Edit::mend())))
    }

    /// Removes one install, or all of them; a removed default moves to the next-ranked. `nonce`
    /// makes names unique: letters, digits and dashes.
    pub fn remove(name: Option<InstallName>, nonce: &str) -> Result<Self, Refusal> {
        Ok(Self::new(Work::Edit(Box::new(Edit::remove(name, nonce)?))))
    }

    fn new(work: Work) -> Self {
        let mut machine = Self {
            clock: Clock::default(),
            ids: EffectId::default(),
            phase: Phase::Locking,
            pending: None,
            in_flight: None,
            events: VecDeque::new(),
            journal: Vec::new(),
            listing: Listing::default(),
            work,
            swept: false,
            cancelled: false,
        };
        machine.ask(Action::Lock { wait: false }, None);
        machine
    }

    /// What came of the request, once it has ended.
    pub fn result(&self) -> Option<&Result<Finished, Refusal>> {
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
        self.answer(effect, outcome);
        Ok(())
    }

    /// So many bytes of the effect in flight are done, for progress alone.
    pub fn handle_progress(&mut self, id: EffectId, done: u64, now: Instant) -> Result<(), Misuse> {
        let Some(effect) = self.in_flight.as_ref().filter(|effect| effect.id == id) else {
            return Err(Misuse::UnknownEffect(id.0));
        };
        self.clock.advance(now);
        if let Action::Fetch { size, .. } = &effect.action {
            let event = Event::Progress { done, total: *size };
            // Only the latest matters; a driver that drains slowly gets no backlog.
            if matches!(self.events.back(), Some(Event::Progress { .. })) {
                self.events.pop_back();
            }
            self.events.push_back(event);
        }
        Ok(())
    }

    /// Gives the request up at the next answer, and undoes what was done. No effect once the
    /// install has been placed.
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
            return broken("a request waits for nothing, or an ended one still wants something");
        }
        if matches!(self.phase, Phase::Tidying(..) | Phase::Unlocking(_) | Phase::Ended(_))
            && !self.journal.is_empty()
        {
            return broken("changes left to undo after the end");
        }
        Ok(())
    }

    fn ask(&mut self, action: Action, inverse: Option<Action>) {
        let id = self.ids.take_next();
        if let Some(inverse) = inverse.as_ref().filter(|_| !action.is_atomic()) {
            self.journal.push(inverse.clone());
        }
        self.pending = Some(Effect { id, action, inverse });
    }

    fn answer(&mut self, effect: Effect, outcome: Outcome) {
        let phase = core::mem::replace(&mut self.phase, Phase::Working);
        match (phase, outcome) {
            (Phase::Locking, Outcome::Busy) => {
                self.events.push_back(Event::Waiting);
                self.phase = Phase::Locking;
                self.ask(Action::Lock { wait: true }, None);
            }
            (Phase::Locking, Outcome::Failed(fault)) => {
                // There is no lock to give back.
                self.end(Err(if self.cancelled { failure::cancelled() } else { failure::lock(&fault) }));
            }
            (Phase::Locking, _) => {
                self.phase = Phase::Listing;
                self.ask(Action::List, None);
            }
            (Phase::Listing, Outcome::Listing(listing)) => {
                let sweep = if self.swept { VecDeque::new() } else { self.sweep(&listing) };
                self.swept = true;
                self.listing = listing;
                self.phase = Phase::Sweeping(sweep);
                self.sweep_on();
            }
            (Phase::Listing, outcome) => self.unlock(Err(failure::unexpected(&effect.action, &outcome))),
            (Phase::Sweeping(rest), outcome) => {
                if let Outcome::Failed(fault) = outcome {
                    self.events.push_back(Event::Warning(failure::leftover(&fault)));
                }
                self.phase = Phase::Sweeping(rest);
                self.sweep_on();
            }
            (Phase::Working, Outcome::Failed(fault)) => self.failed(&effect.action, &fault),
            (Phase::Working, Outcome::Broken { fault, have, validator }) => {
                if let Work::Install(install) = &mut self.work {
                    install.broke(have, validator);
                }
                self.failed(&effect.action, &fault);
            }
            (Phase::Working, outcome) => {
                if let Some(inverse) = effect.inverse.filter(|_| effect.action.is_atomic()) {
                    self.journal.push(inverse);
                }
                self.work_on(Some(outcome));
            }
            (Phase::Undoing(why), outcome) => {
                if let Outcome::Failed(fault) = outcome {
                    self.events.push_back(Event::Warning(failure::leftover(&fault)));
                }
                self.undo(why);
            }
            (Phase::Tidying(rest, finished), outcome) => {
                if let Outcome::Failed(fault) = outcome {
                    self.events.push_back(Event::Warning(failure::leftover(&fault)));
                }
                self.tidy(rest, finished);
            }
            (Phase::Unlocking(result), _) => self.end(result),
            // Nothing is in flight once the request has ended.
            (Phase::Ended(result), _) => self.phase = Phase::Ended(result),
        }
    }

    /// What a dead run left: an entry set aside goes back where its name is free, and everything
    /// else that is temporary goes. We hold the lock, so nobody alive owns any of it.
    fn sweep(&mut self, listing: &Listing) -> VecDeque<Action> {
        let mut actions = VecDeque::new();
        for entry in listing.entries.iter().filter(|entry| layout::is_leftover(&entry.name)) {
            let home = names::aside_of(&entry.name).filter(|home| InstallName::new(home).is_ok());
            let back = home.filter(|home| !listing.entries.iter().any(|other| other.name == *home));
            if let Some(home) = back {
                self.events.push_back(Event::Restored { name: home.into() });
                actions.push_back(Action::Rename { from: entry.name.clone(), to: home.into() });
            } else {
                self.events.push_back(Event::Swept { entry: entry.name.clone() });
                actions.push_back(Action::Remove { path: entry.name.clone() });
            }
        }
        // Its holder is gone, and took nothing with it worth a word.
        let stale = listing.stale.iter().filter(|name| name.starts_with(layout::LEASE));
        actions.extend(stale.map(|name| Action::Remove { path: name.clone() }));
        if actions.iter().any(|action| matches!(action, Action::Rename { .. })) {
            // What came back changes what there is to choose from.
            actions.push_back(Action::List);
        }
        actions
    }

    fn sweep_on(&mut self) {
        let Phase::Sweeping(rest) = &mut self.phase else { return };
        match rest.pop_front() {
            Some(Action::List) => {
                self.phase = Phase::Listing;
                self.ask(Action::List, None);
            }
            Some(action) => self.ask(action, None),
            None => {
                self.phase = Phase::Working;
                self.work_on(None);
            }
        }
    }

    fn work_on(&mut self, outcome: Option<Outcome>) {
        if self.cancelled {
            return self.undo(Undo::Fail(failure::cancelled()));
        }
        let next = match &mut self.work {
            Work::Install(install) => install.next(outcome, &self.listing, &mut self.events),
            Work::Edit(edit) => edit.next(outcome, &self.listing),
        };
        match next {
            Next::Act(action, inverse) => self.ask(action, inverse),
            Next::Retreat => self.undo(Undo::NextPlan),
            Next::Fail(refusal) => self.undo(Undo::Fail(refusal)),
            Next::Commit(tidy, finished) => {
                self.journal.clear();
                self.tidy(tidy.into(), finished);
            }
        }
    }

    /// An effect of the work failed: it is tried again where that may help, else all is undone.
    fn failed(&mut self, action: &Action, fault: &Fault) {
        if self.cancelled {
            return self.undo(Undo::Fail(failure::cancelled()));
        }
        let refusal = match &mut self.work {
            Work::Install(install) => {
                if let Some(Next::Act(action, inverse)) = install.instead(action, fault) {
                    return self.ask(action, inverse);
                }
                if let Some(again) = install.retry(action, fault, &mut self.events) {
                    // What takes the first attempt back takes this one back too.
                    return self.ask(again, None);
                }
                install.explain(action, fault)
            }
            Work::Edit(_) => failure::explain(fault),
        };
        self.undo(Undo::Fail(refusal));
    }

    fn undo(&mut self, why: Undo) {
        if let Some(inverse) = self.journal.pop() {
            self.phase = Phase::Undoing(why);
            return self.ask(inverse, None);
        }
        match why {
            Undo::Fail(refusal) => self.unlock(Err(refusal)),
            Undo::NextPlan => {
                self.phase = Phase::Working;
                self.work_on(None);
            }
        }
    }

    fn tidy(&mut self, mut rest: VecDeque<Action>, finished: Finished) {
        match rest.pop_front() {
            Some(action) => {
                self.phase = Phase::Tidying(rest, finished);
                self.ask(action, None);
            }
            None => self.unlock(Ok(finished)),
        }
    }

    fn unlock(&mut self, result: Result<Finished, Refusal>) {
        self.phase = Phase::Unlocking(result);
        self.ask(Action::Unlock, None);
    }

    fn end(&mut self, result: Result<Finished, Refusal>) {
        self.events.push_back(match &result {
            Ok(finished) => Event::Finished(finished.clone()),
            Err(refusal) => Event::Failed(refusal.clone()),
        });
        self.phase = Phase::Ended(result);
    }
}

/// Whether an outcome is of the kind its action brings.
fn fits(action: &Action, outcome: &Outcome) -> bool {
    match (action, outcome) {
        (Action::Lock { wait }, Outcome::Busy) => !wait,
        (Action::Lock { .. }, Outcome::Locked)
        | (Action::List, Outcome::Listing(_))
        | (Action::Fetch { .. }, Outcome::Fetched { .. } | Outcome::Broken { .. })
        | (Action::Survey { .. }, Outcome::Members { .. })
        | (Action::Check { .. } | Action::Run { .. }, Outcome::Ran(_))
        | (Action::Inventory { .. }, Outcome::Inventory { .. })
        | (_, Outcome::Failed(_)) => true,
        (
            Action::Lock { .. }
            | Action::List
            | Action::Fetch { .. }
            | Action::Survey { .. }
            | Action::Check { .. }
            | Action::Run { .. }
            | Action::Inventory { .. },
            _,
        ) => false,
        (_, outcome) => *outcome == Outcome::Done,
    }
}

/// Whether an install is missing at its name because a run that replaced it was ended between two
/// renames. It is whole, and [`Machine::mend`] puts it back: to be done before anything is made of the
/// listing.
pub fn is_torn(listing: &Listing) -> bool {
    let there = |name: &str| listing.entries.iter().any(|entry| entry.name == name);
    let aside = listing.entries.iter().filter_map(|entry| names::aside_of(&entry.name));
    aside.into_iter().any(|home| InstallName::new(home).is_ok() && !there(home))
}

/// Installs of a listing, as ranking takes them. One without a readable manifest or without its
/// worker is not whole, and carries no manifest here.
pub fn installed(listing: &Listing) -> Vec<super::Installed> {
    let dirs = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    dirs.filter_map(|entry| {
        let name = InstallName::new(&entry.name).ok()?;
        let text = entry.manifest.as_deref().filter(|_| entry.worker);
        let path = format!("{name}/{}", layout::MANIFEST);
        let manifest = text.and_then(|text| super::Manifest::parse(text, &path).ok());
        Some(super::Installed { name, manifest })
    })
    .collect()
}

/// The default among installs: the pinned one if it is whole, else the best-ranked whole one.
fn default_of(installs: &[super::Installed], pinned: Option<&InstallName>) -> Option<InstallName> {
    let whole: Vec<_> = installs.iter().filter(|install| install.manifest.is_some()).cloned().collect();
    super::rank::default_install(&whole, pinned).map(|install| install.name.clone())
}
