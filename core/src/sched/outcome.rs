//! What a step's outcome means for the jobs in it.

use super::scheduler::{Flight, Flying, Scheduler};
use super::tolls::Moved;
use super::{End, Event, Finish, Losses, RowResult, StateId, StepFault, StepOutcome, Token, Want, refuse};
use crate::machine::Misuse;
use crate::refusal::Refusal;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

impl Scheduler {
    pub(super) fn take_outcome(&mut self, outcome: StepOutcome, now: Instant) -> Result<(), Misuse> {
        let id = outcome.id;
        let Some(flight) = self.flight.take_if(|flight| flight.id == id) else {
            return Err(Misuse::UnknownEffect(id.0));
        };
        let fit = match &outcome.result {
            Ok(results) => fits(&flight, results),
            Err(StepFault::Yielded { fed }) => fed_fits(&flight, fed),
            Err(_) => true,
        };
        if !fit {
            self.flight = Some(flight);
            return Err(Misuse::WrongOutcome(id.0));
        }
        self.clock.advance(now);
        match outcome.result {
            Ok(results) => self.completed(flight, results, outcome.elapsed),
            Err(StepFault::Yielded { fed }) => self.gave_up(&flight, &fed, outcome.elapsed),
            Err(StepFault::Capacity) => self.squeeze(&flight),
            Err(StepFault::Lost { states }) => self.lost(&flight, states),
            Err(StepFault::Fatal { refusal }) => self.die(refusal),
        }
        Ok(())
    }

    fn completed(&mut self, flight: Flight, results: Vec<RowResult>, elapsed: Duration) {
        self.tight = false;
        self.prompted = flight.rows.iter().any(|row| !row.decoding);
        let tokens = flight.tokens(|_| true);
        self.waste.ran(tokens);
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let moved = Moved::of(&flight.ops);
        if moved.is_nothing() {
            self.budget.learn(elapsed, tokens);
            self.seqs.tolls.run(self.budget.token());
        } else if let Some(more) = self.budget.beyond(elapsed, tokens) {
            self.seqs.tolls.learn(moved, more);
        }
        for (row, result) in flight.rows.into_iter().zip(results) {
            self.row_done(&row, result);
        }
    }

    /// What of the step was fed stays; what was computed beyond it is lost.
    fn gave_up(&mut self, flight: &Flight, fed: &[u32], elapsed: Duration) {
        let kept: u64 = fed.iter().map(|&fed| u64::from(fed)).sum();
        let most = u64::from(self.config.engine.micro_batch);
        let left = (flight.tokens(|row| !row.cancelled)).saturating_sub(kept).min(most);
        let lost = self.budget.tokens_in(elapsed).map_or(left, |run| run.saturating_sub(kept).min(left));
        self.waste.ran(kept);
        self.waste.lose(lost);
        for (row, &fed) in flight.rows.iter().zip(fed).filter(|(_, fed)| **fed > 0) {
            self.seqs.extend(row.rows.seq, &row.rows.tokens[..fed as usize]);
            if let Some(at) = self.lane_of(row) {
                self.ran(at, row.rows.start, fed);
            }
        }
    }

    fn ran(&mut self, at: usize, start: u32, tokens: u32) {
        let [first, again] = self.lanes[at].live.ran(start, tokens);
        self.prefilled[0] += first;
        self.prefilled[1] += again;
        self.came_back(at);
    }

    fn row_done(&mut self, row: &Flying, result: RowResult) {
        let seq = row.rows.seq;
        if let RowResult::Fault { refusal } = result {
            self.seqs.spoil(seq, row.rows.tokens.len() as u32);
            if let Some(at) = self.lane_of(row) {
                let job = self.leave(at).live.id;
                self.events.push_back(Event::Failed { job, refusal });
            }
            return;
        }
        self.seqs.extend(seq, &row.rows.tokens);
        let Some(at) = self.lane_of(row) else {
            // Its job was cancelled meanwhile.
            self.prefilled[0] += if row.decoding { 0 } else { row.rows.tokens.len() as u64 };
            return;
        };
        self.ran(at, row.rows.start, row.rows.tokens.len() as u32);
        if let RowResult::Token { token, end } = result {
            self.generated(at, token, end);
        }
    }

    /// Where the entry's job runs, unless it was cancelled.
    fn lane_of(&self, row: &Flying) -> Option<usize> {
        let last = self.lanes.len().min(row.at + 1);
        (0..last).rev().find(|&at| self.lanes[at].seq == row.rows.seq)
    }

    fn generated(&mut self, at: usize, token: Token, end: Option<End>) {
        let lane = &mut self.lanes[at];
        let job = lane.live.id;
        let position = lane.live.tokens.len() as u32;
        lane.live.tokens.push(token);
        lane.decoding = true;
        self.events.push_back(Event::Token { job, token, position });
        let finish = match end {
            Some(End::EndOfText | End::StopString) => Finish::Stop,
            None if lane.live.is_full() => Finish::Length,
            None => return,
        };
        let lane = self.leave(at);
        self.seqs.release(lane.seq);
        self.events.push_back(Event::Finished { job, finish, usage: lane.live.usage() });
    }

    /// The engine had no room for a step that should have fitted: drop what is kept, then send one
    /// lane back and admit nobody until a job has left, then refuse the one that is alone.
    fn squeeze(&mut self, flight: &Flight) {
        self.tight = true;
        let smaller = flight.rows.iter().any(|row| row.cancelled);
        if self.seqs.crowd_out() || smaller {
            return;
        }
        let Some(mut lane) = self.take_last() else { return };
        self.seqs.spoil(lane.seq, 0);
        if self.lanes.is_empty() {
            self.squeezed = false;
            let refusal = refuse::no_room(lane.live.tokens.len());
            self.events.push_back(Event::Failed { job: lane.live.id, refusal });
        } else {
            self.squeezed = true;
            lane.live.since = self.clock.now();
            self.queue.push(lane.live);
        }
    }

    /// States could not be moved: whatever was made of them in this step is not there either. Whoever
    /// was to run on it waits again.
    fn lost(&mut self, flight: &Flight, states: Vec<StateId>) {
        let mut losses = Losses::of(states);
        for &op in &flight.ops {
            losses.skips(op);
        }
        for state in losses.states() {
            self.seqs.lost(state);
        }
        for seq in losses.seqs() {
            self.seqs.spoil(seq, 0);
            if let Some(at) = self.lanes.iter().position(|lane| lane.seq == seq) {
                let mut lane = self.leave(at);
                lane.live.since = self.clock.now();
                self.queue.push(lane.live);
            }
        }
    }

    /// The engine cannot go on, so no job can.
    fn die(&mut self, refusal: Refusal) {
        let lanes = core::mem::take(&mut self.lanes);
        for lane in &lanes {
            self.seqs.release(lane.seq);
        }
        let aside = core::mem::take(&mut self.aside).into_values();
        let all = lanes.into_iter().map(|lane| lane.live).chain(aside).chain(self.queue.drain());
        let failed = all.map(|live| Event::Failed { job: live.id, refusal: refusal.clone() });
        self.events.extend(failed);
        self.dead = Some(refusal);
    }
}

/// Whether a pass that was given up can have fed so much.
fn fed_fits(flight: &Flight, fed: &[u32]) -> bool {
    let most = |row: &Flying| row.rows.tokens.len() - usize::from(row.rows.want == Want::Token);
    flight.rows.len() == fed.len() && flight.rows.iter().zip(fed).all(|(row, &fed)| fed as usize <= most(row))
}

/// Whether these are the results the rows want.
fn fits(flight: &Flight, results: &[RowResult]) -> bool {
    let pairs = flight.rows.iter().zip(results);
    flight.rows.len() == results.len()
        && pairs.into_iter().all(|(row, result)| match result {
            RowResult::Fed => row.rows.want == Want::Nothing,
            RowResult::Token { .. } => row.rows.want == Want::Token,
            RowResult::Fault { .. } => true,
        })
}
