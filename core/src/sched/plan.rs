//! Who runs, and what is in the next step.
//!
//! Room is made in this order: kept prefixes are dropped (least recently used first), waiting jobs
//! are held back, and where running jobs outgrow the pool together, the one that stands last goes
//! back to wait, to be recomputed. The one that stands first always stays and always fits, so every
//! job ends.

use super::live::{Key, Live};
use super::preempt::Kept;
use super::prefix;
use super::scheduler::{Flight, Flying, Lane, Scheduler};
use super::{Class, Cut, Event, JobId, Rows, SeqOp, Step, StepId, Want};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A prompt that saw this many steps with chunks of others only goes first in the next; half of that
/// for each `age_after` that it has been running.
const PATIENCE: u32 = 8;
/// Cells left for each lane's growth when one more is admitted, at most.
const GROWTH: u64 = 32;

impl Scheduler {
    pub(super) fn plan(&mut self) -> Option<Step> {
        if self.is_resting() {
            return None;
        }
        let mut ops = Vec::new();
        self.seqs.clear_spoiled(&self.config, &mut ops);
        self.set_aside();
        self.shed();
        self.keep_heads(&mut ops);
        let kept = self.admit(&mut ops);
        self.preempt(kept, &mut ops);
        self.stop_where_prompts_part();
        let flying = self.pack();
        let more: u64 = flying.iter().map(|row| row.rows.tokens.len() as u64).sum();
        while self.seqs.cells() + more > self.pool() && self.seqs.evict_oldest(&self.config, &mut ops) {}
        let rest = u64::from(self.config.engine.keeping.rest_tokens.unwrap_or(u32::MAX));
        while self.seqs.kept_cells() > rest && self.seqs.evict_oldest(&self.config, &mut ops) {}
        self.last_step = StepId(self.last_step.0 + 1);
        let rows = flying.iter().map(|row| row.rows.clone()).collect();
        self.flight = Some(Flight { id: self.last_step, ops: ops.clone(), rows: flying, urgent: false });
        Some(Step { id: self.last_step, ops, rows })
    }

    pub(super) fn pool(&self) -> u64 {
        u64::from(self.config.engine.pool_tokens)
    }

    /// Cells the lanes take once all they know is fed.
    pub(super) fn demand(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.live.tokens.len() as u64).sum()
    }

    /// Sends lanes back until the others fit.
    fn shed(&mut self) {
        while self.lanes.len() > 1 && self.demand() > self.pool() {
            let Some(lane) = self.take_last() else { return };
            self.send_back(lane);
        }
    }

    /// Takes the lane out whose job stands last.
    pub(super) fn take_last(&mut self) -> Option<Lane> {
        let lanes = self.lanes.iter().enumerate();
        let (at, _) = lanes.max_by_key(|(_, lane)| lane.live.key)?;
        Some(self.lanes.remove(at))
    }

    /// Gives free lanes to those next in the queue. One that does not fit holds back those behind
    /// it, or a large job would wait for ever; one whose class has all lanes it may have does not.
    /// One that waits for a running job to run what they
    /// share has its lane and its room kept free meanwhile.
    /// Returns whose lanes are kept.
    fn admit(&mut self, ops: &mut Vec<SeqOp>) -> Vec<Kept> {
        self.lanes.iter_mut().for_each(|lane| lane.followed = None);
        let mut kept = Vec::new();
        let mut need: u64 = self.lanes.iter().map(|lane| self.need(&lane.live)).sum();
        let free = self.config.engine.lanes as usize - self.lanes.len();
        for id in self.queue.next(free, Class::ALL.map(|class| self.open(class))) {
            let Some(next) = self.queue.get(id) else { break };
            let (class, cells) = (next.class, self.need(next));
            need += cells;
            if !self.lanes.is_empty() && (self.squeezed || need > self.pool()) {
                break;
            }
            if let Some((at, until)) = self.leader(next) {
                self.follow(at, class, until);
                kept.push(Kept { id, class, cells });
            } else if !self.start(id, ops) {
                break;
            }
        }
        kept
    }

    /// Lanes the class may have more, if there are any.
    pub(super) fn open(&self, class: Class) -> usize {
        let running = self.lanes.iter().filter(|lane| lane.live.class == class && !lane.paused);
        (self.config.class_lanes[class as usize] as usize).saturating_sub(running.count())
    }

    /// Cells the job takes, with some for its growth.
    pub(super) fn need(&self, live: &Live) -> u64 {
        let share = self.pool() / (4 * u64::from(self.config.engine.lanes));
        live.tokens.len() as u64 + (live.room() as u64).min(GROWTH).min(share)
    }

    /// Gives a waiting job a lane. Whether there was a sequence for it.
    pub(super) fn start(&mut self, id: JobId, ops: &mut Vec<SeqOp>) -> bool {
        let Some(next) = self.queue.get(id) else { return false };
        let before = ops.len();
        let Some(seq) = prefix::place(&mut self.seqs, &self.config, id, &next.tokens, ops) else {
            return false;
        };
        let Some(mut live) = self.queue.remove(id) else { return false };
        live.began.get_or_insert(self.clock.now());
        let safety = self.safety(&live);
        let imported = ops[before..].iter().any(|op| matches!(op, SeqOp::Import { .. }));
        self.lanes.push(Lane {
            live,
            seq,
            imported,
            decoding: false,
            paused: false,
            passed_over: 0,
            followed: None,
            safety,
        });
        true
    }

    fn pack(&mut self) -> Vec<Flying> {
        let engine = self.config.engine;
        let running = || self.lanes.iter().filter(|lane| !lane.paused);
        let decoding = running().filter(|lane| lane.decoding).count();
        let prefilling = running().count() - decoding;
        let decodes = decoding > 0 && (engine.mixes || prefilling == 0 || self.prompted);
        let prompts = prefilling > 0 && (engine.mixes || !decodes);
        let mut flying = Vec::new();
        if decodes {
            for at in 0..self.lanes.len() {
                if self.lanes[at].decoding && !self.lanes[at].paused {
                    flying.push(self.row(at, 1));
                }
            }
        }
        if prompts {
            let left = engine.step_tokens as usize - flying.len();
            let budget = match decoding {
                0 => self.budget.pass_tokens(),
                _ => self.budget.prompt_tokens(decoding),
            };
            self.chunks(budget.min(left), &mut flying);
        }
        flying
    }

    /// Shares the budget out: class first, then who needs least, then who came first. Of those passed
    /// over too often the most impatient goes before all, but leaves the others half, and
    /// not in two passes in a row: whoever is urgent waits for one such pass at most.
    fn chunks(&mut self, mut budget: usize, flying: &mut Vec<Flying>) {
        let prefills = |lane: &Lane| !lane.decoding && !lane.paused;
        let mut order: Vec<usize> = (0..self.lanes.len()).filter(|&at| prefills(&self.lanes[at])).collect();
        let starved = order.iter().copied().filter(|&at| !self.led && self.impatience(at) > 0);
        let lead = starved.max_by_key(|&at| (self.impatience(at), Reverse(self.lanes[at].live.key)));
        self.led = lead.is_some();
        order.sort_by_key(|&at| (lead != Some(at), self.chunk_order(at)));
        let mut others: usize = order.iter().map(|&at| self.pending(at)).sum();
        let decoding = flying.len();
        for at in order {
            // Whoever is more urgent waits for the whole pass.
            if flying[decoding..].iter().any(|row| row.class < self.lanes[at].live.class) {
                budget = budget.min(self.budget.prompt_tokens(decoding));
            }
            let pending = self.pending(at);
            others -= pending;
            let leave = if lead == Some(at) { others.min(budget / 2) } else { 0 };
            let take = self.even(pending.min(budget - leave), &flying[decoding..]);
            let passed_over = self.lanes[at].passed_over.saturating_add(1);
            self.lanes[at].passed_over = if take == 0 { passed_over } else { 0 };
            if take > 0 {
                budget -= take;
                flying.push(self.row(at, take));
            }
        }
    }

    /// What of a chunk goes beside those already in the pass. Where passes do not mix, rows are
    /// computed together as far as they are equally long, and what is left of the longer ones takes
    /// as much time again: a chunk that can't be as long as they are waits for the next pass.
    fn even(&self, take: usize, beside: &[Flying]) -> usize {
        match beside.first() {
            Some(first) if !self.config.engine.mixes => {
                let length = first.rows.tokens.len();
                if take >= length { length } else { 0 }
            }
            _ => take,
        }
    }

    /// How many times over a lane's prompt has waited as often as it should.
    fn impatience(&self, at: usize) -> u32 {
        let lane = &self.lanes[at];
        let age = lane.live.began.map_or(0, |began| self.clock.now().since(began).as_nanos());
        let ages = age.checked_div(self.config.age_after.as_nanos()).unwrap_or(u128::MAX);
        lane.passed_over / (PATIENCE >> ages.min(u128::from(PATIENCE.ilog2())))
    }

    fn chunk_order(&self, at: usize) -> (usize, usize, Key) {
        let lane = &self.lanes[at];
        let held = self.seqs.get(lane.seq).len();
        let (class, until) = match lane.followed {
            Some(followed) => (lane.live.class.min(followed.class), followed.until),
            None => (lane.live.class, lane.live.tokens.len()),
        };
        (class as usize, until - held, lane.live.key)
    }

    /// Tokens the job has that its sequence does not hold yet; at least one. Where a state cannot
    /// be cut it must stop where followers part from it, or they could not use it.
    fn pending(&self, at: usize) -> usize {
        let lane = &self.lanes[at];
        let stop = lane.followed.filter(|_| self.config.engine.cut == Cut::HeadOnly);
        let end = stop.map_or(lane.live.tokens.len(), |followed| followed.until);
        let held = self.seqs.get(lane.seq).len();
        let end = self.ends_at(at).filter(|&at| held < at).map_or(end, |at| end.min(at));
        end - held
    }

    /// The lane's next `take` tokens; its first tell that the job starts.
    fn row(&mut self, at: usize, take: usize) -> Flying {
        let lane = &mut self.lanes[at];
        let live = &mut lane.live;
        let start = self.seqs.get(lane.seq).len();
        let end = start + take;
        if !live.started {
            live.started = true;
            let cached = live.cached(start as u32);
            self.reused[usize::from(lane.imported)] += u64::from(cached);
            self.events.push_back(Event::Started { job: live.id, cached });
        }
        let rows = Rows {
            job: live.id,
            seq: lane.seq,
            start: start as u32,
            tokens: live.tokens[start..end].to_vec(),
            want: if end == live.tokens.len() { Want::Token } else { Want::Nothing },
        };
        Flying { rows, at, class: live.class, decoding: lane.decoding, cancelled: false }
    }
}
