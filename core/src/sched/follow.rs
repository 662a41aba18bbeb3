//! Who waits for a running job to run what both share.
//!
//! A job that would run the same long head as one that is still at it keeps its place in the queue,
//! with a lane kept free for it, and forks from the other's state as soon as that has what they
//! share. Nothing is remembered between steps: whoever was waited for may leave or break at any
//! time, and those who waited then stand as if they had just come.

use super::Class;
use super::live::Live;
use super::prefix::{self, From};
use super::scheduler::{Followed, Scheduler};
use crate::cache::common;

impl Scheduler {
    /// The lane that is worth waiting for, and where the job parts from it. Such a lane has tokens to
    /// run up to there, so the wait ends.
    pub(super) fn leader(&self, live: &Live) -> Option<(usize, usize)> {
        let cost = self.seqs.tolls.copy(&self.config)? as usize;
        let usable = prefix::usable(&live.tokens);
        let lanes = self.lanes.iter().enumerate().filter(|(_, lane)| !lane.decoding && !lane.paused);
        let shared = lanes.filter_map(|(at, lane)| {
            let common = common(usable, &lane.live.tokens);
            let held = self.seqs.get(lane.seq).len();
            (common >= self.config.share_from as usize && common > held).then_some((at, common))
        });
        // Of lanes that share as much the first.
        let (at, common) = shared.rev().max_by_key(|&(_, common)| common)?;
        let more = match prefix::best(&self.seqs, &self.config, &live.tokens) {
            // What the last few tokens would cost each of many followers is more than a copy's cost.
            Some(head) if matches!(head.from, From::Running(_)) => common > head.shared as usize,
            Some(head) => common > head.shared as usize + cost,
            None => common > cost,
        };
        more.then_some((at, common))
    }

    /// A job of this class waits until the lane has run up to `until`.
    pub(super) fn follow(&mut self, at: usize, class: Class, until: usize) {
        let before = self.lanes[at].followed;
        let class = before.map_or(class, |followed| followed.class.min(class));
        let until = before.map_or(until, |followed| followed.until.min(until));
        self.lanes[at].followed = Some(Followed { class, until });
    }
}
