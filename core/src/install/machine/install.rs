//! The work of an install: one attempt a plan, each staged, checked and then placed.

use super::effect::{Action, Fault, Listing, Outcome};
use super::retry::Attempts;
use super::{Event, Finished, Next, Verdict, default_of, failure, installed, judge_check, names};
use crate::install::archive::{Arrangement, Judged, Limits, Shape, arrange, judge};
use crate::install::{Installed, Manifest, Plan, PlannedAsset, Source, inventory, layout};
use crate::refusal::Refusal;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Most bytes of an asset whose size nobody knows.
const UNKNOWN_SIZE: u64 = 4 << 30;
const CONNECT_MS: u64 = 20_000;
const STALL_MS: u64 = 60_000;
/// A first `check` may have to compile GPU code.
const CHECK_MS: u64 = 120_000;

/// What an install takes besides its plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Makes temporary names unique: a process id and something random; letters, digits, dashes.
    pub nonce: String,
    /// The adapter beside superfluid, an absolute path, for archives without a worker.
    pub adapter: Option<String>,
    /// This superfluid's version, for the manifest.
    pub superfluid: String,
    /// Seconds since 1970, for the manifest.
    pub installed_at: u64,
    /// What the install is for.
    pub purpose: Purpose,
}

/// What an install is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// An install beside the others; nothing is done where the same one is there.
    #[default]
    Install,
    /// A newer one that becomes the default. A pin moves to it.
    Update,
    /// The same install again, even where it is there and whole.
    Repair,
}

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
    Adapter,
    Check,
    Inventory,
    Manifest,
    Sync,
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

    /// The fetch in flight broke off.
    pub(super) fn broke(&mut self, have: u64, validator: Option<String>) {
        if let Step::Fetch(index) = self.step {
            self.attempts.broke(have, validator, self.plan().assets[index].size);
        }
    }

    /// The failed action once more, where that may help: a fetch over the network.
    pub(super) fn retry(
        &mut self,
        action: &Action,
        fault: &Fault,
        events: &mut VecDeque<Event>,
    ) -> Option<Action> {
        let mut again = action.clone();
        let Action::Fetch { name, source: Source::Url { .. }, after_ms, resume, .. } = &mut again else {
            return None;
        };
        (*after_ms, *resume) = self.attempts.next(fault)?;
        events.push_back(Event::Retrying {
            name: name.clone(),
            why: fault.message.clone(),
            after_ms: *after_ms,
            have: resume.as_ref().map_or(0, |resume| resume.have),
        });
        Some(again)
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
            (Step::Begin, _) => Ok(self.begin(listing, events)),
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
            (Step::Links, _) => self.adapter(events),
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
                let name = self.plan().name.clone();
                if listing.entries.iter().any(|entry| entry.name == name.as_str()) {
                    self.aside = true;
                    self.step = Step::Aside;
                    return Ok(undoable(Action::Rename {
                        from: name.as_str().into(),
                        to: names::aside(name.as_str()),
                    }));
                }
                Ok(self.place())
            }
            (Step::Aside, _) => Ok(self.place()),
            (Step::Place, _) => {
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
            (Step::Fetch(_) | Step::Survey(_) | Step::Check | Step::Inventory, _) => {
                Err(Refusal::new("io", "an effect was answered with another's outcome"))
            }
        }
    }

    fn begin(&mut self, listing: &Listing, events: &mut VecDeque<Event>) -> Next {
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
                return self.already(listing);
            }
            self.digests.clear();
        }
        self.step = Step::Stage;
        self.staged = true;
        undoable(Action::MakeDir { path: self.stage() })
    }

    /// Whether the very install that is planned is there, whole and from the same archives.
    fn is_there(&self, listing: &Listing) -> bool {
        if self.settings.purpose == Purpose::Repair {
            return false;
        }
        let there = installed(listing).into_iter().find(|install| install.name == self.plan().name);
        there.and_then(|install| install.manifest).is_some_and(|manifest| {
            manifest
                .sources
                .iter()
                .map(|source| source.sha256.as_str())
                .eq(self.digests.iter().map(String::as_str))
        })
    }

    fn already(&mut self, listing: &Listing) -> Next {
        self.finished.already = true;
        self.finished.installed = Some(self.plan().name.clone());
        // A run that was killed after it placed the install may not have set the default.
        self.point(listing)
    }

    fn fetch(&mut self, index: usize, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Fetch(index);
        self.attempts = Attempts::default();
        let asset = &self.plan().assets[index];
        let from = match &asset.source {
            Source::Url { url } => url.clone(),
            Source::File { path } => path.clone(),
        };
        events.push_back(Event::Fetching { name: asset.name.clone(), size: asset.size, from });
        undoable(Action::Fetch {
            name: asset.name.clone(),
            source: asset.source.clone(),
            to: self.archive(index),
            max: asset.size.unwrap_or(UNKNOWN_SIZE),
            size: asset.size,
            after_ms: 0,
            resume: None,
            connect_ms: CONNECT_MS,
            stall_ms: STALL_MS,
        })
    }

    fn verify(
        &mut self,
        index: usize,
        bytes: u64,
        sha256: String,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Refusal> {
        let asset = &self.plan().assets[index];
        let name = asset.name.clone();
        if let Some(expected) = &asset.sha256 {
            if let Some(size) = asset.size.filter(|size| *size != bytes) {
                return Err(failure::size(&name, size, bytes));
            }
            if !expected.eq_ignore_ascii_case(&sha256) {
                return Err(failure::digest(&name, expected, &sha256));
            }
            events.push_back(Event::Verified { name, sha256: sha256.clone() });
        }
        self.sizes.push(bytes);
        self.digests.push(sha256);
        Ok(())
    }

    fn survey(&mut self, index: usize) -> Next {
        self.step = Step::Survey(index);
        let name = self.plan().assets[index].name.clone();
        Next::Act(Action::Survey { archive: self.archive(index), name, limits: self.limits(index) }, None)
    }

    fn unpack(&mut self, index: usize, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Unpack(index);
        let name = self.plan().assets[index].name.clone();
        let files = core::mem::take(&mut self.arrangement.files[index]);
        let bytes = files.iter().map(|file| file.size).sum();
        events.push_back(Event::Unpacking { name: name.clone(), files: files.len() as u64, bytes });
        undoable(Action::Unpack {
            archive: self.archive(index),
            name,
            limits: self.limits(index),
            into: self.tree(),
            files,
        })
    }

    fn links(&mut self) -> Next {
        self.step = Step::Links;
        let links = Arrangement {
            hard: core::mem::take(&mut self.arrangement.hard),
            links: core::mem::take(&mut self.arrangement.links),
            ..Arrangement::default()
        };
        undoable(Action::MakeLinks { into: self.tree(), links })
    }

    fn adapter(&mut self, events: &mut VecDeque<Event>) -> Result<Next, Refusal> {
        if self.arrangement.worker {
            return Ok(self.check(events));
        }
        let Some(from) = self.settings.adapter.clone() else {
            return Err(failure::no_adapter(&self.plan().runtime, &self.worker()));
        };
        self.step = Step::Adapter;
        Ok(undoable(Action::CopyProgram { from, to: format!("{}/{}", self.tree(), self.worker()) }))
    }

    fn check(&mut self, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Check;
        events.push_back(Event::Checking);
        Next::Act(
            Action::Check { worker: format!("{}/{}", self.tree(), self.worker()), limit_ms: CHECK_MS },
            None,
        )
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

    fn place(&mut self) -> Next {
        self.step = Step::Place;
        undoable(Action::Rename { from: self.tree(), to: self.plan().name.as_str().into() })
    }

    fn point(&mut self, listing: &Listing) -> Next {
        let mut installs = installed(listing);
        let name = self.plan().name.clone();
        installs.retain(|install| install.name != name);
        let manifest = Manifest::of(self.plan(), &[], "", 0);
        installs.push(Installed { name: name.clone(), manifest: Some(manifest) });
        let pinned = listing.pinned.as_deref().and_then(layout::named);
        let default = default_of(&installs, pinned.as_ref());
        if self.settings.purpose == Purpose::Update && default.as_ref() != Some(&name) {
            self.finished.pinned = true;
            let action = Action::SetFile { path: layout::PINNED.into(), text: format!("{name}\n") };
            self.finished.current = Some(name);
            self.step = Step::Pin;
            return Next::Act(action, Some(super::edit::unset_pin(listing)));
        }
        self.finished.pinned = default.is_some() && default == pinned;
        self.finished.current = default;
        self.lead(listing).unwrap_or_else(|| self.commit())
    }

    /// The default link, where it does not lead to the default yet.
    fn lead(&mut self, listing: &Listing) -> Option<Next> {
        let default = self.finished.current.as_ref();
        let default = default.filter(|default| listing.current.as_deref() != Some(default.as_str()))?;
        let next = super::edit::set_current(default, listing);
        self.step = Step::Default;
        Some(next)
    }

    const fn sync_default(&mut self) -> Next {
        self.step = Step::DefaultNames;
        Next::Act(Action::SyncNames, None)
    }

    fn commit(&mut self) -> Next {
        let mut tidy = Vec::new();
        if self.aside {
            tidy.push(Action::Remove { path: names::aside(self.plan().name.as_str()) });
        }
        if self.staged {
            tidy.push(Action::Remove { path: self.stage() });
        }
        Next::Commit(tidy, core::mem::take(&mut self.finished))
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
        _ => return Next::Act(action, None),
    };
    Next::Act(action, Some(inverse))
}

/// What an asset must be before anything is fetched, whoever planned it.
fn check_asset(asset: &PlannedAsset) -> Result<(), Refusal> {
    match &asset.source {
        Source::Url { url } if !url.starts_with("https://") => {
            Err(Refusal::new("not_https", format!("{url:?} is not an https address"))
                .hint("archives are fetched over https only, on every hop"))
        }
        Source::Url { url } if asset.sha256.is_none() => {
            Err(Refusal::new("no_sha256", format!("no SHA-256 is known for {url}"))
                .hint("give the archive's digest with --sha256"))
        }
        _ => Ok(()),
    }
}
