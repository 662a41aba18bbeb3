//! Staging: archives judged and unpacked, the worker in its place and checked.

use super::{Install, Step, undoable};
use crate::install::archive::Arrangement;
use crate::install::machine::effect::Action;
use crate::install::machine::{Event, Next, failure};
use crate::refusal::Refusal;
use alloc::collections::VecDeque;
use alloc::format;

/// A first `check` may have to compile GPU code.
const CHECK_MS: u64 = 120_000;

impl Install {
    pub(super) fn survey(&mut self, index: usize) -> Next {
        self.step = Step::Survey(index);
        let name = self.plan().assets[index].name.clone();
        Next::Act(Action::Survey { archive: self.archive(index), name, limits: self.limits(index) }, None)
    }

    pub(super) fn unpack(&mut self, index: usize, events: &mut VecDeque<Event>) -> Next {
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

    pub(super) fn links(&mut self) -> Next {
        self.step = Step::Links;
        let links = Arrangement {
            hard: core::mem::take(&mut self.arrangement.hard),
            links: core::mem::take(&mut self.arrangement.links),
            ..Arrangement::default()
        };
        undoable(Action::MakeLinks { into: self.tree(), links })
    }

    pub(super) fn adapter(&mut self, events: &mut VecDeque<Event>) -> Result<Next, Refusal> {
        if self.arrangement.worker {
            return Ok(self.check(events));
        }
        let Some(from) = self.settings.adapter.clone() else {
            return Err(failure::no_worker(&self.plan().runtime, &self.worker()));
        };
        self.step = Step::Adapter;
        Ok(undoable(Action::CopyProgram { from, to: format!("{}/{}", self.tree(), self.worker()) }))
    }

    pub(super) fn check(&mut self, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Check;
        events.push_back(Event::Checking);
        Next::Act(
            Action::Check { worker: format!("{}/{}", self.tree(), self.worker()), limit_ms: CHECK_MS },
            None,
        )
    }
}
