//! The work of an install: one attempt a plan, each staged, checked and then placed.

mod environment;
mod fetch;
mod place;
mod settings;
mod stage;

pub use settings::{Purpose, Settings};

use super::effect::{Action, Fault, Listing, Outcome};
use super::retry::Attempts;
use super::{Event, Finished, Next, Verdict, failure, judge_check, names, pip};
use crate::install::archive::{Arrangement, Judged, Limits, Shape, arrange, judge};
use crate::install::{Manifest, Plan, inventory, layout};
use crate::refusal::Refusal;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use fetch::check_asset;

/// The step whose answer is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    Stage,
    Fetch(usize),
    Survey(usize),
    Tree,
    Folders,
    Unpack(usize),
    Links,
    Temporary,
    Requirements,
    Packages,
    Launchers,
    Adapter,
    Check,
    Inventory,
    Manifest,
    Sync,
    Exchange,
    Aside,
    Place,
    Names,
    Pin,
    Default,
    DefaultNames,
}

#[derive(Debug)]
pub(super) struct Install {
    plans: Vec<Plan>,
    settings: Settings,
    attempt: usize,
    step: Step,
    digests: Vec<String>,
    sizes: Vec<u64>,
    judged: Vec<Judged>,
    arrangement: Arrangement,
    finished: Finished,
    /// Of the fetch in flight.
    attempts: Attempts,
    refused: Vec<(String, String)>,
    /// Set once something of ours has been set aside or staged under these names.
    aside: bool,
    staged: bool,
}

impl Install {
    pub(super) fn new(plans: Vec<Plan>, settings: Settings) -> Result<Self, Refusal> {
        failure::nonce(&settings.nonce)?;
        if plans.is_empty() {
            return Err(Refusal::new("no_plan", "there is nothing to install for this machine")
                .hint("superfluid runtime install <id> --dry-run shows what was considered"));
        }
        for asset in plans.iter().flat_map(|plan| &plan.assets) {
            check_asset(asset)?;
        }
        Ok(Self {
            plans,
            settings,
            attempt: 0,
            step: Step::Begin,
            digests: Vec::new(),
            sizes: Vec::new(),
            judged: Vec::new(),
            arrangement: Arrangement::default(),
            finished: Finished::default(),
            attempts: Attempts::default(),
            refused: Vec::new(),
            aside: false,
            staged: false,
        })
    }

    /// A failed effect of this work, in words.
    pub(super) fn explain(&self, action: &Action, fault: &Fault) -> Refusal {
        match action {
            Action::Fetch { name, source, .. } => failure::fetch(self.plan(), name, source, fault),
            _ => failure::explain(fault),
        }
    }

    /// Takes the awaited step's answer and says what is next.
    pub(super) fn next(
        &mut self,
        outcome: Option<Outcome>,
        listing: &Listing,
        events: &mut VecDeque<Event>,
    ) -> Next {
        match self.advance(outcome, listing, events) {
            Ok(next) => next,
            Err(refusal) => Next::Fail(refusal),
        }
    }

    fn advance(
        &mut self,
        outcome: Option<Outcome>,
        listing: &Listing,
        events: &mut VecDeque<Event>,
    ) -> Result<Next, Refusal> {
        match (self.step, outcome) {
            (Step::Begin, _) => self.begin(listing, events),
            (Step::Stage, _) => Ok(self.fetch(0, events)),
            (Step::Fetch(index), Some(Outcome::Fetched { bytes, sha256 })) => {
                self.verify(index, bytes, sha256, events)?;
                if index + 1 < self.plan().assets.len() {
                    return Ok(self.fetch(index + 1, events));
                }
                if self.is_there(listing) {
                    return Ok(self.already(listing));
                }
                Ok(self.survey(0))
            }
            (Step::Survey(index), Some(Outcome::Members { members })) => {
                let judged = judge(members).map_err(|refusal| self.about(index, refusal))?;
                self.judged.push(judged);
                if index + 1 < self.plan().assets.len() {
                    return Ok(self.survey(index + 1));
                }
                self.arrangement = arrange(&self.judged, Shape::of(&self.plan().runtime))
                    .map_err(|refusal| self.about(0, refusal))?;
                self.step = Step::Tree;
                Ok(undoable(Action::MakeDir { path: self.tree() }))
            }
            (Step::Tree, _) => {
                self.step = Step::Folders;
                let dirs = core::mem::take(&mut self.arrangement.dirs);
                Ok(undoable(Action::MakeFolders { into: self.tree(), dirs }))
            }
            (Step::Folders, _) => Ok(self.unpack(0, events)),
            (Step::Unpack(index), _) if index + 1 < self.plan().assets.len() => {
                Ok(self.unpack(index + 1, events))
            }
            (Step::Unpack(_), _) => Ok(self.links()),
            (Step::Links, _) => match &self.plan().packages {
                Some(_) => Ok(self.temporary()),
                None => self.adapter(events),
            },
            (Step::Temporary, _) => Ok(self.requirements()),
            (Step::Requirements, _) => Ok(self.packages(events)),
            (Step::Packages, Some(Outcome::Ran(run))) => {
                pip::judge(&run)?;
                Ok(self.launchers())
            }
            (Step::Launchers, _) => self.adapter(events),
            (Step::Adapter, _) => Ok(self.check(events)),
            (Step::Check, Some(Outcome::Ran(run))) => match judge_check(&run, self.plan()) {
                Verdict::Stands(report) => {
                    self.finished.report = Some(report);
                    self.step = Step::Inventory;
                    Ok(Next::Act(Action::Inventory { path: self.tree() }, None))
                }
                Verdict::Broken(refusal) => Err(refusal),
                Verdict::NoDevice(reason) => self.no_device(reason, events),
            },
            (Step::Inventory, Some(Outcome::Inventory { files })) => {
                self.step = Step::Manifest;
                let mut manifest = Manifest::of(
                    self.plan(),
                    &self.fetched(),
                    &self.settings.superfluid,
                    self.settings.installed_at,
                );
                manifest.files = inventory::record(files)?;
                let path = format!("{}/{}", self.tree(), layout::MANIFEST);
                Ok(undoable(Action::Write { path, text: manifest.to_json() }))
            }
            (Step::Manifest, _) => {
                self.step = Step::Sync;
                Ok(Next::Act(Action::SyncTree { path: self.tree() }, None))
            }
            (Step::Sync, _) => {
                let name = self.plan().name.as_str();
                let taken = listing.entries.iter().any(|entry| entry.name == name);
                Ok(if taken { self.exchange() } else { self.place() })
            }
            (Step::Aside, _) => Ok(self.place()),
            (Step::Place | Step::Exchange, _) => {
                self.step = Step::Names;
                Ok(Next::Act(Action::SyncNames, None))
            }
            (Step::Names, _) => {
                self.finished.installed = Some(self.plan().name.clone());
                Ok(self.point(listing))
            }
            (Step::Pin, _) => Ok(match self.lead(listing) {
                Some(next) => next,
                None => self.sync_default(),
            }),
            (Step::Default, _) => Ok(self.sync_default()),
            (Step::DefaultNames, _) => Ok(self.commit()),
            (Step::Fetch(_) | Step::Survey(_) | Step::Packages | Step::Check | Step::Inventory, _) => {
                Err(Refusal::new("io", "an effect was answered with another's outcome"))
            }
        }
    }

    fn begin(&mut self, listing: &Listing, events: &mut VecDeque<Event>) -> Result<Next, Refusal> {
        self.digests.clear();
        self.sizes.clear();
        self.judged.clear();
        self.arrangement = Arrangement::default();
        let plan = self.plan();
        events.push_back(Event::Planned { name: plan.name.clone(), reason: plan.reason.clone() });
        let known: Option<Vec<String>> = plan.assets.iter().map(|asset| asset.sha256.clone()).collect();
        if let Some(known) = known {
            self.digests = known;
            if self.is_there(listing) {
                return Ok(self.already(listing));
            }
            self.digests.clear();
        }
        if self.plan().packages.is_some() && self.settings.adapter.is_none() {
            // No package brings the worker: better said before anything is fetched.
            return Err(failure::no_adapter(&self.plan().runtime));
        }
        self.step = Step::Stage;
        self.staged = true;
        Ok(undoable(Action::MakeDir { path: self.stage() }))
    }

    fn no_device(&mut self, reason: String, events: &mut VecDeque<Event>) -> Result<Next, Refusal> {
        let given_up = self.plan().name.clone();
        self.refused.push((given_up.as_str().into(), reason.clone()));
        let Some(next) = self.plans.get(self.attempt + 1) else {
            return Err(failure::no_device(&self.refused));
        };
        events.push_back(Event::NextPlan { given_up, reason, next: next.name.clone() });
        self.attempt += 1;
        self.step = Step::Begin;
        self.staged = false;
        Ok(Next::Retreat)
    }

    /// Each asset's size and digest as they came.
    fn fetched(&self) -> Vec<(u64, String)> {
        self.sizes.iter().copied().zip(self.digests.iter().cloned()).collect()
    }

    fn plan(&self) -> &Plan {
        &self.plans[self.attempt]
    }

    fn stage(&self) -> String {
        names::stage(&self.settings.nonce, self.attempt)
    }

    fn tree(&self) -> String {
        format!("{}/tree", self.stage())
    }

    fn archive(&self, index: usize) -> String {
        format!("{}/archive-{index}", self.stage())
    }

    fn worker(&self) -> String {
        Shape::of(&self.plan().runtime).worker()
    }

    fn limits(&self, index: usize) -> Limits {
        Limits::for_size(self.sizes[index])
    }

    /// A refusal of an archive, with its name in front.
    fn about(&self, index: usize, mut refusal: Refusal) -> Refusal {
        refusal.message = format!("{}: {}", self.plan().assets[index].name, refusal.message);
        refusal
    }
}

/// An action that changes files, with what takes it back.
fn undoable(action: Action) -> Next {
    let inverse = match &action {
        Action::MakeDir { path } | Action::Write { path, .. } => Action::Remove { path: path.clone() },
        Action::Fetch { to, .. } | Action::CopyProgram { to, .. } => Action::Remove { path: to.clone() },
        Action::MakeFolders { into, .. } | Action::Unpack { into, .. } | Action::MakeLinks { into, .. } => {
            Action::Remove { path: into.clone() }
        }
        Action::Rename { from, to } => Action::Rename { from: to.clone(), to: from.clone() },
        Action::Exchange { .. } => action.clone(),
        _ => return Next::Act(action, None),
    };
    Next::Act(action, Some(inverse))
}
