//! The work of `runtime use` and `runtime remove`, and of mending what a run that was ended left.

use super::effect::{Action, Listing, Outcome};
use super::{Finished, Next, default_of, failure, installed, names};
use crate::install::{InstallName, Installed, layout, lease};
use crate::refusal::Refusal;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[derive(Debug)]
enum What {
    Pin(InstallName),
    Unpin,
    Mend,
    Remove { name: Option<InstallName>, nonce: String },
}

/// A short list of changes, known as soon as the directory has been seen.
#[derive(Debug)]
pub(super) struct Edit {
    what: What,
    script: Option<Script>,
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<(Action, Option<Action>)>,
    tidy: Vec<Action>,
    finished: Finished,
}

impl Edit {
    pub(super) const fn pin(name: InstallName) -> Self {
        Self { what: What::Pin(name), script: None }
    }

    pub(super) const fn unpin() -> Self {
        Self { what: What::Unpin, script: None }
    }

    /// What a run that was ended left has been seen to once the directory was read.
    pub(super) const fn mend() -> Self {
        Self { what: What::Mend, script: None }
    }

    pub(super) fn remove(name: Option<InstallName>, nonce: &str) -> Result<Self, Refusal> {
        failure::nonce(nonce)?;
        Ok(Self { what: What::Remove { name, nonce: nonce.into() }, script: None })
    }

    pub(super) fn next(&mut self, outcome: Option<Outcome>, listing: &Listing) -> Next {
        if self.script.is_none() {
            match self.write(listing) {
                Ok(script) => self.script = Some(script),
                Err(refusal) => return Next::Fail(refusal),
            }
        }
        let script = self.script.get_or_insert_default();
        // Whoever took a lease before the names were gone has seen them there, and keeps them.
        if let Some(Outcome::Listing(now)) = outcome
            && let Err(refusal) = lease::unused(&script.finished.removed, &now.leases)
        {
            return Next::Fail(refusal);
        }
        match script.steps.pop_front() {
            Some((action, inverse)) => Next::Act(action, inverse),
            None => Next::Commit(core::mem::take(&mut script.tidy), core::mem::take(&mut script.finished)),
        }
    }

    fn write(&self, listing: &Listing) -> Result<Script, Refusal> {
        let installs = installed(listing);
        let mut script = Script::default();
        match &self.what {
            What::Pin(name) => {
                let there = installs.iter().find(|install| install.name == *name);
                if there.is_none_or(|install| install.manifest.is_none()) {
                    return Err(no_such(name, listing));
                }
                let text = format!("{name}\n");
                script.steps.push_back((
                    Action::SetFile { path: layout::PINNED.into(), text },
                    Some(unset_pin(listing)),
                ));
                script.point(&installs, Some(name), listing);
            }
            What::Mend => {}
            What::Unpin => {
                if listing.pinned.is_some() {
                    let action = Action::Remove { path: layout::PINNED.into() };
                    script.steps.push_back((action, Some(unset_pin(listing))));
                }
                script.point(&installs, None, listing);
            }
            What::Remove { name, nonce } => {
                let all = listing.entries.iter().filter_map(|entry| InstallName::new(&entry.name).ok());
                let doomed: Vec<InstallName> =
                    all.filter(|there| name.as_ref().is_none_or(|name| name == there)).collect();
                if let Some(name) = name.as_ref().filter(|_| doomed.is_empty()) {
                    return Err(no_such(name, listing));
                }
                lease::unused(&doomed, &listing.leases)?;
                let left: Vec<Installed> =
                    installs.into_iter().filter(|install| !doomed.contains(&install.name)).collect();
                let pinned = listing.pinned.as_deref().and_then(layout::named);
                // A pin that names nothing that is left goes too.
                let keeps_pin =
                    pinned.as_ref().is_some_and(|pinned| left.iter().any(|one| one.name == *pinned));
                if listing.pinned.is_some() && !keeps_pin {
                    let action = Action::Remove { path: layout::PINNED.into() };
                    script.steps.push_back((action, Some(unset_pin(listing))));
                }
                script.point(&left, pinned.as_ref().filter(|_| keeps_pin), listing);
                for name in &doomed {
                    let trash = names::trash(nonce, name.as_str());
                    let (from, to) = (name.to_string(), trash.clone());
                    let back = Action::Rename { from: trash.clone(), to: name.to_string() };
                    script.steps.push_back((Action::Rename { from, to }, Some(back)));
                    script.tidy.push(Action::Remove { path: trash });
                }
                if !doomed.is_empty() {
                    script.steps.push_back((Action::List, None));
                }
                script.finished.removed = doomed;
            }
        }
        script.steps.push_back((Action::SyncNames, None));
        Ok(script)
    }
}

impl Script {
    /// Sets the default link to what is the default among `installs`.
    fn point(&mut self, installs: &[Installed], pinned: Option<&InstallName>, listing: &Listing) {
        let default = default_of(installs, pinned);
        self.finished.pinned = default.is_some() && default.as_ref() == pinned;
        match &default {
            Some(default) if listing.current.as_deref() == Some(default.as_str()) => {}
            Some(default) => {
                if let Next::Act(action, inverse) = set_current(default, listing) {
                    self.steps.push_back((action, inverse));
                }
            }
            None => {
                if let Some(current) = &listing.current {
                    let back = Action::SetLink { link: layout::CURRENT.into(), target: current.clone() };
                    self.steps.push_back((Action::Remove { path: layout::CURRENT.into() }, Some(back)));
                }
            }
        }
        self.finished.current = default;
    }
}

/// The default link, set; and as it was.
pub(super) fn set_current(default: &InstallName, listing: &Listing) -> Next {
    let link = String::from(layout::CURRENT);
    let back = match &listing.current {
        Some(target) => Action::SetLink { link: link.clone(), target: target.clone() },
        None => Action::Remove { path: link.clone() },
    };
    Next::Act(Action::SetLink { link, target: default.to_string() }, Some(back))
}

/// The pin as it was.
pub(super) fn unset_pin(listing: &Listing) -> Action {
    let path = String::from(layout::PINNED);
    match &listing.pinned {
        Some(text) => Action::SetFile { path, text: text.clone() },
        None => Action::Remove { path },
    }
}

pub(in crate::install) fn no_such(name: &InstallName, listing: &Listing) -> Refusal {
    let whole = installed(listing).into_iter().filter(|install| install.manifest.is_some());
    let there: Vec<String> = whole.map(|install| install.name.to_string()).collect();
    let broken = listing.entries.iter().any(|entry| entry.name == name.as_str());
    let refusal = match broken {
        true => Refusal::new("broken_install", format!("the install {name} is not whole"))
            .hint("install it again; the broken one is replaced"),
        false => Refusal::new("no_such_install", format!("there is no install {name}")),
    };
    if there.is_empty() {
        return refusal
            .hint("nothing of this runtime is installed; superfluid runtime install <id> installs it");
    }
    refusal.hint(format!("installed: {}", there.join(", ")))
}
