//! Deadlines that requests carry, and the one a drain has.

use super::*;
use superfluid_core::supervise::{Status, Wake};
use superfluid_core::wire::JobUpdate;

fn failed_code(events: &[Event], id: u64) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::Failed { job, refusal } if job.0 == id => Some(refusal.code.clone()),
        _ => None,
    })
}

fn due(rig: &mut Rig, id: u64, ms: u64) {
    let by = rig.now + Duration::from_millis(ms);
    rig.act(|sup, now| sup.set_deadline(JobId(id), by, now));
}

#[test]
fn a_job_with_the_worker_fails_at_its_deadline_and_is_taken_from_it() {
    let mut rig = Rig::ready();
    rig.submit(1);
    due(&mut rig, 1, 500);
    assert_eq!(rig.sup.poll_timeout(), Some((Instant::from_millis(500), Wake::Deadline)));
    rig.pass_to_deadline();
    assert_eq!(failed_code(&rig.events, 1).as_deref(), Some("deadline_exceeded"));
    assert_eq!((rig.sends.last(), rig.sup.jobs()), (Some(&ToWorker::Cancel { id: JobId(1) }), 0));
    rig.take_events();
    // What the worker says of it until it has let go is nobody's any more.
    let update =
        JobUpdate { id: JobId(1), tokens: vec![1], text: "x".into(), logprobs: vec![], held: vec![] };
    rig.frame(ToDaemon::Accepted { id: JobId(1), prompt_tokens: 1 });
    rig.frame(ToDaemon::Updates { jobs: vec![update] });
    rig.frame(finished(1));
    assert_eq!(rig.take_events(), []);
}

#[test]
fn a_job_that_waits_for_a_successor_fails_at_its_deadline_and_is_not_given_to_it() {
    let mut rig = Rig::ready();
    rig.submit(1);
    due(&mut rig, 1, 100);
    rig.exit(killed());
    rig.pass(Duration::from_millis(100));
    assert_eq!(failed_code(&rig.events, 1).as_deref(), Some("deadline_exceeded"));
    while rig.sup.lives() == 1 {
        rig.pass_to_deadline();
    }
    rig.sends.clear();
    rig.come_up();
    assert!(!rig.sends.iter().any(|frame| matches!(frame, ToWorker::Submit(_))));
}

#[test]
fn a_deadline_is_told_once_when_the_worker_dies_before_it_lets_go() {
    let mut rig = Rig::ready();
    rig.submit(1);
    due(&mut rig, 1, 100);
    rig.pass(Duration::from_millis(100));
    rig.take_events();
    rig.exit(killed());
    assert!(rig.take_events().iter().all(|event| matches!(event, Event::Down { .. })));
}

#[test]
fn a_worker_that_dies_while_draining_is_followed_by_one_that_finishes() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.act(Supervisor::drain);
    rig.exit(killed());
    assert_eq!((failed_code(&rig.events, 1), rig.sup.status()), (None, Status::Draining));
    while rig.sup.lives() == 1 {
        rig.pass_to_deadline();
    }
    rig.come_up();
    rig.frame(finished(1));
    assert_eq!(rig.sends.last(), Some(&ToWorker::Drain));
    rig.exit(Exit { status: ExitStatus::Code { code: 0 }, stderr: vec![] });
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 0 }));
    assert!(rig.events.iter().any(|event| matches!(event, Event::Finished { job: JobId(1), .. })));
}

#[test]
fn a_drain_that_meets_a_restarting_worker_waits_for_it_but_not_for_ever() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.exit(killed());
    rig.act(Supervisor::drain);
    assert_eq!(failed_code(&rig.events, 1), None);
    rig.pass(Config::default().drain);
    // The restart was due first; the drain's end comes with the next look.
    while failed_code(&rig.events, 1).is_none() {
        rig.pass_to_deadline();
    }
    assert_eq!(failed_code(&rig.events, 1).as_deref(), Some("shutting_down"));
    rig.spawned();
    rig.exit(killed());
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 1 }));
}

#[test]
fn a_drain_ends_with_the_last_job_that_is_cancelled() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.exit(killed());
    rig.act(Supervisor::drain);
    rig.act(|sup, now| sup.cancel(JobId(1), now));
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 0 }));
}
