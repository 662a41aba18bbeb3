//! The Python environment of an install that has one: pip's run over the pinned wheels.

use super::{Install, Step, undoable};
use crate::install::machine::effect::Action;
use crate::install::machine::{Event, Next};
use crate::install::{Packages, layout, pip};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A hundred megabytes over a slow line; pip gives up by itself where nothing comes.
const PIP_MS: u64 = 60 * 60 * 1000;

impl Install {
    /// pip's temporary files lie in the stage, so that whatever becomes of it they go with the stage.
    pub(super) fn temporary(&mut self) -> Next {
        self.step = Step::Temporary;
        undoable(Action::MakeDir { path: self.temporary_path() })
    }

    pub(super) fn requirements(&mut self) -> Next {
        self.step = Step::Requirements;
        let text = self.plan().packages.as_ref().map_or_else(String::new, Packages::requirements);
        undoable(Action::Write { path: self.requirements_path(), text })
    }

    pub(super) fn packages(&mut self, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Packages;
        let target = format!("{}/{}", self.tree(), layout::ENV);
        let mut args = Vec::new();
        if let Some(packages) = &self.plan().packages {
            events.push_back(Event::Packages {
                count: packages.wheels.len() as u64,
                bytes: packages.size(),
                from: packages.index.words().into(),
            });
            args = pip::arguments(packages, &self.requirements_path(), &target);
        }
        let run = Action::Run {
            program: format!("{}/{}", self.tree(), layout::INTERPRETER),
            args,
            env: pip::variables(&self.temporary_path()),
            limit_ms: PIP_MS,
        };
        Next::Act(run, Some(Action::Remove { path: target }))
    }

    /// pip's launchers name the staged interpreter by its path, which is not where it will be.
    pub(super) fn launchers(&mut self) -> Next {
        self.step = Step::Launchers;
        Next::Act(Action::Remove { path: format!("{}/{}/bin", self.tree(), layout::ENV) }, None)
    }

    fn temporary_path(&self) -> String {
        format!("{}/tmp", self.stage())
    }

    fn requirements_path(&self) -> String {
        format!("{}/requirements.txt", self.stage())
    }
}
