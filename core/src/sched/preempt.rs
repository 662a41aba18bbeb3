//! Who gives its lane to somebody more urgent.
//!
//! The lowest class goes first, in it whoever decodes (its state is whole, so it loses least), then
//! who stands last. The state stays where it is for as long as nobody needs the sequence. A job that
//! was sent back stands where it stood, so it takes the next free lane.
//!
//! A lane that a job got back, or got because it had aged past more urgent ones, is safe until the job
//! is where it was, whatever must be run again for it, and then for as long as it took to get there
//! (`age_after` at most). So a flood of urgent jobs leaves the others a good part of the time, and
//! nobody is only ever moved in and out.

use super::live::Live;
use super::scheduler::{Lane, Safety, Scheduler};
use super::{Class, JobId, SeqOp};
use alloc::vec::Vec;

/// A waiting job for which a lane is kept free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) id: JobId,
    pub(super) class: Class,
    /// Cells it takes.
    pub(super) cells: u64,
}

impl Scheduler {
    /// Gives waiting jobs the lanes of less urgent ones, as long as there are such.
    pub(super) fn preempt(&mut self, mut kept: Vec<Kept>, ops: &mut Vec<SeqOp>) {
        for class in [Class::Interactive, Class::Agent] {
            if !self.can_preempt(class) && !kept.iter().any(|kept| kept.class > class) {
                continue;
            }
            let same = kept.iter().filter(|kept| kept.class == class).count();
            for id in self.queue.first(class, self.open(class).min(self.config.engine.lanes as usize)) {
                if kept.iter().any(|kept| kept.id == id) {
                    continue;
                }
                let Some(next) = self.queue.get(id) else { break };
                if let Some((at, until)) = self.leader(next) {
                    self.follow(at, class, until);
                    continue;
                }
                let cells = self.need(next);
                let open = self.open(class) > same;
                if !open || !self.make_way(class, cells, &mut kept) || !self.start(id, ops) {
                    break;
                }
            }
        }
    }

    /// Whether a job of this class could take somebody's lane.
    pub(super) fn can_preempt(&self, class: Class) -> bool {
        self.lanes.iter().any(|lane| self.gives_way(lane, class))
    }

    /// How safe the lane is that the job gets now.
    pub(super) fn safety(&self, live: &Live) -> Safety {
        let mut urgent = Class::ALL.into_iter().take_while(|&class| class < live.class);
        let passed = urgent.any(|class| self.queue.len(class) > 0 && self.open(class) > 0);
        if passed || live.displaced.is_some() { Safety::Returning } else { Safety::Never }
    }

    /// A step ran the lane on: it may be where it was.
    pub(super) fn came_back(&mut self, at: usize) {
        let now = self.clock.now();
        let lane = &mut self.lanes[at];
        let back = self.seqs.get(lane.seq).len() > lane.live.displaced.unwrap_or(0);
        if back && matches!(lane.safety, Safety::Returning) {
            lane.safety = Safety::Until(now + now.since(lane.live.since).min(self.config.age_after));
        }
    }

    /// The lane's job waits again; its state is kept.
    pub(super) fn send_back(&mut self, mut lane: Lane) {
        self.seqs.release(lane.seq);
        lane.live.since = self.clock.now();
        self.queue.push(lane.live);
    }

    /// Makes room for a job: a lane, and cells. Changes nothing where less urgent jobs do not have
    /// enough, or have nothing to do with it.
    fn make_way(&mut self, class: Class, cells: u64, kept: &mut Vec<Kept>) -> bool {
        let mut lanes = self.lanes.len() + kept.len();
        let mut need = cells + kept.iter().map(|kept| kept.cells).sum::<u64>();
        need += self.lanes.iter().map(|lane| self.need(&lane.live)).sum::<u64>();
        let fits = |lanes, need| lanes < self.config.engine.lanes as usize && need <= self.pool();
        if self.squeezed || fits(lanes, need) {
            return false;
        }
        // Those that only wait for a head lose nothing.
        let mut idle: Vec<Kept> = kept.iter().copied().filter(|kept| kept.class > class).collect();
        idle.sort_by_key(|kept| kept.class);
        let mut busy: Vec<&Lane> = self.lanes.iter().filter(|lane| self.gives_way(lane, class)).collect();
        busy.sort_by_key(|lane| (lane.live.class, lane.decoding, lane.live.key));
        let (mut waits, mut leaves) = (Vec::new(), Vec::new());
        while !fits(lanes, need) {
            if let Some(last) = idle.pop() {
                need -= last.cells;
                waits.push(last.id);
            } else if let Some(last) = busy.pop() {
                need -= self.need(&last.live);
                leaves.push(last.live.id);
            } else {
                return false;
            }
            lanes -= 1;
        }
        kept.retain(|kept| !waits.contains(&kept.id));
        for mut lane in self.lanes.extract_if(.., |lane| leaves.contains(&lane.live.id)).collect::<Vec<_>>() {
            self.preempted += 1;
            lane.live.displaced = Some(self.seqs.get(lane.seq).len());
            self.send_back(lane);
        }
        true
    }

    fn gives_way(&self, lane: &Lane, class: Class) -> bool {
        let safe = match lane.safety {
            Safety::Never => false,
            Safety::Returning => true,
            Safety::Until(then) => self.clock.now() < then,
        };
        lane.live.class > class && !safe
    }
}
