//! Where a state that cannot be cut is kept: for jobs that wait, and where prompts end.
//!
//! Such a state serves another job only as it is, so a prompt stops where waiting prompts part from
//! it. Jobs that have a lane free fork there; for the others a copy is kept, and each of them copies
//! that in turn. A long prompt stops one token short of its end too, and the state is kept there: for
//! the same prompt again, and for one that goes on otherwise than the reply did.

use super::scheduler::Scheduler;
use super::{Cut, SeqId, SeqOp, prefix};
use crate::cache::common;
use alloc::vec::Vec;

/// Waiting jobs that are looked at.
const AHEAD: usize = 64;

impl Scheduler {
    /// Lanes stop where jobs part from them that wait for a lane.
    pub(super) fn stop_where_prompts_part(&mut self) {
        if !self.parts() {
            return;
        }
        for id in self.queue.next(AHEAD, [AHEAD; 3]) {
            let Some((at, until)) = self.queue.get(id).and_then(|live| self.leader(live)) else { continue };
            self.follow(at, self.lanes[at].live.class, until);
        }
    }

    /// Keeps what a lane holds where its prompt ends, and where more jobs part from it than there are
    /// free lanes.
    pub(super) fn keep_heads(&mut self, ops: &mut Vec<SeqOp>) {
        if self.tight {
            return;
        }
        for at in 0..self.lanes.len() {
            let seq = self.lanes[at].seq;
            if self.ends_at(at) == Some(self.seqs.get(seq).len()) {
                self.keep(seq, ops);
            }
        }
        if !self.parts() {
            return;
        }
        let free = self.config.engine.lanes as usize - self.lanes.len();
        for at in 0..self.lanes.len() {
            let lane = &self.lanes[at];
            let (tokens, held) = (&lane.live.tokens, self.seqs.get(lane.seq).len());
            if lane.decoding || held < self.config.share_from as usize {
                continue;
            }
            let ahead = self.queue.next(AHEAD, [AHEAD; 3]).into_iter().filter_map(|id| self.queue.get(id));
            let parting = ahead.filter(|live| common(prefix::usable(&live.tokens), tokens) == held);
            if parting.count() > free && !self.seqs.is_kept_too(lane.seq) {
                prefix::keep(&mut self.seqs, &self.config, lane.seq, ops);
            }
        }
    }

    /// How many tokens a lane's sequence holds where its prompt ends, one short; where it stops there.
    pub(super) fn ends_at(&self, at: usize) -> Option<usize> {
        let (engine, prompt) = (&self.config.engine, self.lanes[at].live.prompt_len());
        let keeps = engine.keeping.exports() || self.config.copies();
        let long = prompt >= self.config.keep_from as usize;
        (engine.cut == Cut::HeadOnly && keeps && long).then(|| prompt - 1)
    }

    /// Keeps what a lane holds: in host memory, where it costs no other job cells, or in a copy.
    fn keep(&mut self, seq: SeqId, ops: &mut Vec<SeqOp>) {
        if self.config.engine.keeping.exports() {
            self.seqs.save(seq, &self.config, ops);
        } else if !self.seqs.is_kept_too(seq) {
            prefix::keep(&mut self.seqs, &self.config, seq, ops);
        }
    }

    /// Whether there are waiting jobs, and states that can be copied but not cut.
    fn parts(&self) -> bool {
        let engine = &self.config.engine;
        !self.queue.is_empty() && engine.cut == Cut::HeadOnly && self.config.copies()
    }
}
