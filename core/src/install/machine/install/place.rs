//! Placing what is staged, and setting the default.

use super::{Install, Purpose, Step, undoable};
use crate::install::machine::effect::{Action, Fault, FaultKind, Listing};
use crate::install::machine::{Next, default_of, edit, installed, names};
use crate::install::{Installed, Manifest, layout};
use alloc::format;
use alloc::vec::Vec;

impl Install {
    /// Whether the very install that is planned is there, whole and from the same archives.
    pub(super) fn is_there(&self, listing: &Listing) -> bool {
        if self.settings.purpose == Purpose::Repair {
            return false;
        }
        let there = installed(listing).into_iter().find(|install| install.name == self.plan().name);
        there.and_then(|install| install.manifest).is_some_and(|manifest| {
            let wheels = self.plan().packages.iter().flat_map(|packages| &packages.wheels);
            let planned = self.digests.iter().chain(wheels.map(|wheel| &wheel.sha256));
            manifest.sources.iter().map(|source| &source.sha256).eq(planned)
        })
    }

    pub(super) fn already(&mut self, listing: &Listing) -> Next {
        self.finished.already = true;
        self.finished.installed = Some(self.plan().name.clone());
        // A run that was killed after it placed the install may not have set the default.
        self.point(listing)
    }

    /// Puts what is staged in the place of what has its name: there is an install of that name at every
    /// moment. What was there before goes with the stage.
    pub(super) fn exchange(&mut self) -> Next {
        self.step = Step::Exchange;
        undoable(Action::Exchange { one: self.tree(), other: self.plan().name.as_str().into() })
    }

    /// What is done where an effect cannot be: without an exchange the old one is set aside, and comes
    /// back with the next command should this one end before the new one is placed.
    pub(in crate::install::machine) fn instead(&mut self, action: &Action, fault: &Fault) -> Option<Next> {
        if !matches!(action, Action::Exchange { .. }) || fault.kind != FaultKind::Unsupported {
            return None;
        }
        self.aside = true;
        self.step = Step::Aside;
        let name = self.plan().name.as_str();
        Some(undoable(Action::Rename { from: name.into(), to: names::aside(name) }))
    }

    pub(super) fn place(&mut self) -> Next {
        self.step = Step::Place;
        undoable(Action::Rename { from: self.tree(), to: self.plan().name.as_str().into() })
    }

    pub(super) fn point(&mut self, listing: &Listing) -> Next {
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
            return Next::Act(action, Some(edit::unset_pin(listing)));
        }
        self.finished.pinned = default.is_some() && default == pinned;
        self.finished.current = default;
        self.lead(listing).unwrap_or_else(|| self.commit())
    }

    /// The default link, where it does not lead to the default yet.
    pub(super) fn lead(&mut self, listing: &Listing) -> Option<Next> {
        let default = self.finished.current.as_ref();
        let default = default.filter(|default| listing.current.as_deref() != Some(default.as_str()))?;
        let next = edit::set_current(default, listing);
        self.step = Step::Default;
        Some(next)
    }

    pub(super) const fn sync_default(&mut self) -> Next {
        self.step = Step::DefaultNames;
        Next::Act(Action::SyncNames, None)
    }

    pub(super) fn commit(&mut self) -> Next {
        let mut tidy = Vec::new();
        if self.aside {
            tidy.push(Action::Remove { path: names::aside(self.plan().name.as_str()) });
        }
        if self.staged {
            tidy.push(Action::Remove { path: self.stage() });
        }
        Next::Commit(tidy, core::mem::take(&mut self.finished))
    }
}
