//! Who is loaded next and who makes room for it.

use super::entry::{Entry, State};
use super::event::{Effect, ModelIx};
use super::machine::Fleet;
use crate::time::Instant;

impl Fleet {
    /// Puts a model in line for a load, unless it is loaded or in line already.
    pub(super) fn want(&mut self, at: usize) {
        if self.entries[at].state == State::Unloaded {
            self.wishes += 1;
            self.entries[at].failure = None;
            self.entries[at].state = State::Queued { order: self.wishes };
        }
    }

    /// Brings loads in line with what is wanted: free room goes to who has waited for it longest;
    /// where there is none, as many models as wait are made to leave, first those with nothing to do,
    /// then those not used for longest. One that has requests finishes them before.
    pub(super) fn arrange(&mut self, now: Instant) {
        if !self.serves() {
            return;
        }
        self.unload_idle(now);
        self.close_empty();
        let most = self.config.loaded_max.unwrap_or(usize::MAX).max(1);
        while let Some(at) = self.next_in_line()
            && self.loads() < most
        {
            self.start(at);
        }
        let count = |pick: fn(&Entry) -> bool| self.entries.iter().filter(|entry| pick(entry)).count();
        let waiting = count(|entry| matches!(entry.state, State::Queued { .. }));
        let leaving = count(|entry| matches!(entry.state, State::Emptying { .. } | State::Closing { .. }));
        for _ in leaving..waiting {
            let up = (0..self.entries.len()).filter_map(|at| match self.entries[at].state {
                State::Up { load } => Some((self.entries[at].running > 0, self.entries[at].used, at, load)),
                _ => None,
            });
            let Some((_, _, at, load)) = up.min() else { break };
            self.entries[at].state = State::Emptying { load };
        }
        self.close_empty();
    }

    pub(super) fn start(&mut self, at: usize) {
        self.last_load.0 += 1;
        let load = self.last_load;
        let entry = &mut self.entries[at];
        entry.state = State::Loading { load };
        entry.running = 0;
        self.effects.push_back(Effect::Start { model: ModelIx(at), load });
    }

    pub(super) fn loads(&self) -> usize {
        self.entries.iter().filter(|entry| entry.load().is_some()).count()
    }

    fn next_in_line(&self) -> Option<usize> {
        let queued = self.entries.iter().enumerate().filter_map(|(at, entry)| match entry.state {
            State::Queued { order } => Some((order, at)),
            _ => None,
        });
        queued.min().map(|(_, at)| at)
    }

    fn unload_idle(&mut self, now: Instant) {
        let Some(idle) = self.config.idle else { return };
        for entry in &mut self.entries {
            if let State::Up { load } = entry.state
                && entry.running == 0
                && entry.used + idle <= now
            {
                entry.state = State::Emptying { load };
            }
        }
    }

    fn close_empty(&mut self) {
        for entry in &mut self.entries {
            if let State::Emptying { load } = entry.state
                && entry.running == 0
            {
                entry.state = State::Closing { load };
                self.effects.push_back(Effect::Drain { load });
            }
        }
    }
}
