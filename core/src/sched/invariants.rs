//! What must hold between any two calls.

use super::JobId;
use super::scheduler::Scheduler;
use super::seqs::Holder;
use crate::machine::Broken;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

impl Scheduler {
    /// Checks what must hold between any two calls.
    ///
    /// # Errors
    ///
    /// The first thing found broken; always a bug in core.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        let check = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| Broken(String::from(what)));
        check(self.queue.is_sound(), "the queue's index differs from its classes")?;
        check(self.seqs.is_sound(), "the sequences' counters differ from the sequences")?;
        check(self.seqs.cells() <= u64::from(self.engine().pool_tokens), "more cells than the pool has")?;
        check(self.lanes.len() <= self.engine().lanes as usize, "more lanes than the engine has")?;
        check(self.dead.is_none() || self.is_idle(), "jobs live on a dead engine")?;
        let ids: BTreeSet<_> = self.lanes.iter().map(|lane| lane.live.id).collect();
        check(ids.len() == self.lanes.len(), "a job has two lanes")?;
        check(!ids.iter().any(|&id| self.queue.contains(id)), "a job waits and runs")?;
        for lane in &self.lanes {
            let (job, seq) = (lane.live.id.0, self.seqs.get(lane.seq));
            let fail = |what: &str| Err(Broken(format!("job {job}: {what}")));
            if seq.holder != Holder::Lane(lane.live.id) {
                return fail("its sequence is not its own");
            }
            if !self.seqs.is_head_of(lane.seq, &lane.live.tokens) {
                return fail("its sequence holds other tokens than it has");
            }
            if seq.len() >= lane.live.tokens.len() {
                return fail("it has nothing to run");
            }
            if lane.decoding && seq.len() + 1 != lane.live.tokens.len() {
                return fail("it decodes with more than one token to run");
            }
            if lane.live.is_full() {
                return fail("it should have ended");
            }
        }
        let aside = |id: &JobId| self.queue.contains(*id) || ids.contains(id);
        check(!self.aside.keys().any(aside), "a job is set aside and waits or runs")?;
        check(self.seqs.running_len() == self.lanes.len(), "a sequence is held for no lane")?;
        for row in self.flight.iter().flat_map(|flight| &flight.rows) {
            let seq = self.seqs.get(row.rows.seq);
            if seq.len() != row.rows.start as usize {
                return Err(Broken(format!("sequence {} moved under its step", row.rows.seq.0)));
            }
        }
        Ok(())
    }
}
