//! Clients that take nothing.

use super::*;
use superfluid_core::wire::{JobUpdate, TokenLogprob, TopLogprob};

const MOST: u64 = 1000;

fn rig() -> Rig {
    let mut rig = Rig::new(Config { backlog_max: MOST, ..Config::default() });
    rig.come_up();
    rig.submit(1);
    rig.sends.clear();
    rig
}

fn said(id: u64) -> ToDaemon {
    let update =
        JobUpdate { id: JobId(id), tokens: vec![7], text: "a".into(), logprobs: vec![], held: vec![] };
    ToDaemon::Updates { jobs: vec![update] }
}

impl Rig {
    fn backlog(&mut self, bytes: u64) -> Vec<ToWorker> {
        self.act(|sup, now| sup.handle_backlog(JobId(1), bytes, now));
        std::mem::take(&mut self.sends)
    }
}

#[test]
fn a_job_is_paused_above_the_bound_and_goes_on_below_half_of_it() {
    let mut rig = rig();
    assert_eq!(rig.backlog(MOST), []);
    assert_eq!(rig.backlog(MOST + 1), [ToWorker::Pause { id: JobId(1) }]);
    assert_eq!(rig.backlog(MOST * 9), [], "told once");
    assert_eq!(rig.backlog(MOST / 2 + 1), []);
    assert_eq!(rig.backlog(0), [ToWorker::Resume { id: JobId(1) }]);
    assert_eq!(rig.backlog(MOST), []);
    rig.frame(finished(1));
    assert_eq!(rig.backlog(MOST * 9), [], "it is over");
}

/// A successor is not given what would run no further, and tries the others meanwhile.
#[test]
fn a_paused_job_goes_to_a_successor_once_its_client_reads() {
    let mut rig = rig();
    rig.submit(2);
    rig.frame(said(1));
    rig.frame(said(2));
    rig.backlog(MOST + 1);
    rig.exit(killed());
    rig.pass_to_deadline();
    rig.sends.clear();
    rig.come_up();
    let given = |rig: &mut Rig| -> Vec<u64> {
        let sends = std::mem::take(&mut rig.sends);
        let ids = sends.into_iter().filter_map(|frame| match frame {
            ToWorker::Submit(submit) => Some(submit.id.0),
            _ => None,
        });
        ids.collect()
    };
    assert_eq!(given(&mut rig), [2]);
    rig.frame(said(2));
    assert!(given(&mut rig).is_empty(), "its client still takes nothing");
    rig.act(|sup, now| sup.handle_backlog(JobId(1), 0, now));
    assert_eq!(given(&mut rig), [1]);
}

#[test]
fn an_update_weighs_its_text_and_every_alternative() {
    let top = TopLogprob { bytes: vec![], logprob: -1.0 };
    let entry = TokenLogprob { bytes: vec![], logprob: 0.0, top: vec![top; 20] };
    let plain =
        JobUpdate { id: JobId(1), tokens: vec![], text: "four".into(), logprobs: vec![], held: vec![] };
    assert_eq!(plain.bytes(), 4);
    let rich = JobUpdate { logprobs: vec![entry; 2], ..plain };
    assert!(rich.bytes() > 2 * 20 * 32, "{}", rich.bytes());
}
