//! Lives: start, serve, die, drain.

use super::*;
use superfluid_core::supervise::{Status, Totals, Wake};
use superfluid_core::wire::{JobUpdate, Stats};
use superfluid_core::{Misuse, Refusal};

fn failed_code(events: &[Event], id: u64) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::Failed { job, refusal } if job.0 == id => Some(refusal.code.clone()),
        _ => None,
    })
}

#[test]
fn a_worker_comes_up_serves_and_drains() {
    let mut rig = Rig::new(Config::default());
    assert_eq!(rig.effects, [Effect::Spawn { life: Life(1) }]);
    assert_eq!(rig.sup.status(), Status::Starting);
    rig.spawned();
    rig.frame(hello());
    rig.frame(ToDaemon::Progress { permille: 400 });
    assert_eq!(rig.sup.status(), Status::Loading { permille: 400 });
    rig.frame(ToDaemon::Loaded(loaded()));
    assert_eq!(rig.sup.status(), Status::Ready);
    rig.submit(1);
    rig.act(Supervisor::drain);
    rig.submit(2);
    assert_eq!(failed_code(&rig.events, 2).as_deref(), Some("shutting_down"));
    assert!(!rig.sends.contains(&ToWorker::Drain), "a job still runs");
    rig.frame(finished(1));
    assert_eq!(rig.sends.last(), Some(&ToWorker::Drain));
    rig.exit(Exit { status: ExitStatus::Code { code: 0 }, stderr: vec![] });
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 0 }));
    assert!(rig.sup.poll_timeout().is_none());
}

#[test]
fn jobs_are_refused_while_the_first_load_goes_on() {
    let mut rig = Rig::new(Config::default());
    rig.submit(1);
    assert_eq!(failed_code(&rig.events, 1).as_deref(), Some("model_loading"));
}

#[test]
fn a_long_load_is_not_dead_and_a_stalled_one_is() {
    let config = Config { load_stall: Duration::from_secs(10), ..Config::default() };
    let mut rig = Rig::new(config);
    rig.spawned();
    rig.frame(hello());
    for permille in 1..100 {
        rig.pass(Duration::from_secs(9));
        rig.frame(ToDaemon::Progress { permille });
    }
    assert_eq!(rig.effects.len(), 1);
    rig.pass_to_deadline();
    assert_eq!(rig.effects.last(), Some(&Effect::Kill { life: Life(1) }));
    rig.exit(killed());
    let (message, restart) = rig.down();
    assert_eq!(message, "the mock worker made no progress loading the model for 10 s");
    assert_eq!(restart, None);
}

#[test]
fn a_ready_worker_is_asked_and_a_silent_one_is_killed() {
    let mut rig = Rig::ready();
    rig.pass_to_deadline();
    let Some(ToWorker::Ping { n }) = rig.sends.last().cloned() else { panic!("no ping") };
    rig.frame(ToDaemon::Pong { n, stats: Stats { steps: 2, ..Stats::default() } });
    assert_eq!(rig.sup.stats().steps, 2);
    rig.pass_to_deadline();
    let asked = rig.now;
    rig.pass_to_deadline();
    assert_eq!(rig.sup.poll_timeout(), Some((asked + Config::default().ping_patience, Wake::Pong)));
    rig.pass_to_deadline();
    assert_eq!(rig.effects.last(), Some(&Effect::Kill { life: Life(1) }));
    rig.exit(killed());
    assert_eq!(rig.down().0, "the mock worker has not answered for 60 s");
}

#[test]
fn a_worker_with_nothing_to_do_that_does_not_answer_is_told_within_seconds_and_may_come_back() {
    let mut rig = Rig::ready();
    let came_up = rig.now;
    rig.pass_to_deadline();
    assert_eq!(rig.sup.poll_timeout().map(|(_, why)| why), Some(Wake::Silent));
    rig.pass_to_deadline();
    assert_eq!(rig.sup.status(), Status::Silent);
    assert!(rig.now.since(came_up) <= Duration::from_secs(5));
    rig.submit(1);
    assert!(rig.sends.contains(&ToWorker::Submit(submit(1))), "it may answer yet");
    assert_eq!(rig.sup.status(), Status::Silent);
    rig.frame(ToDaemon::Pong { n: 1, stats: Stats::default() });
    assert_eq!(rig.sup.status(), Status::Ready);
}

#[test]
fn a_worker_with_a_job_may_take_its_time() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.pass_to_deadline();
    assert_eq!(rig.sup.poll_timeout().map(|(_, why)| why), Some(Wake::Pong), "a step may be long");
    rig.frame(finished(1));
    assert_eq!(rig.sup.poll_timeout(), Some((rig.now + Config::default().idle_patience, Wake::Silent)));
}

#[test]
fn case_f02_a_death_loses_no_job_and_the_successor_goes_on() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.submit(2);
    rig.act(|sup, now| sup.cancel(JobId(2), now));
    rig.frame(ToDaemon::Updates { jobs: vec![JobUpdate { id: JobId(1), tokens: vec![5], ..no_update() }] });
    rig.exit(killed());
    assert!(failed_code(&rig.events, 1).is_none());
    let cancelled =
        |event: &Event| matches!(event, Event::Finished { job: JobId(2), finish: Finish::Cancelled, .. });
    assert!(rig.events.iter().any(cancelled), "a job nobody waits for was not lost");
    assert_eq!(rig.sup.status(), Status::Restarting);
    rig.submit(3);
    assert!(failed_code(&rig.events, 3).is_none(), "held until the successor is ready");
    rig.pass_to_deadline();
    rig.sends.clear();
    rig.come_up();
    let mut continued = submit(1);
    continued.committed = vec![5];
    assert!(rig.sends.contains(&ToWorker::Submit(continued)));
    assert!(!rig.sends.contains(&ToWorker::Submit(submit(3))), "what may have been the cause goes first");
    rig.frame(ToDaemon::Updates { jobs: vec![JobUpdate { id: JobId(1), tokens: vec![6], ..no_update() }] });
    assert!(rig.sends.contains(&ToWorker::Submit(submit(3))));
}

fn no_update() -> JobUpdate {
    JobUpdate { id: JobId(0), tokens: vec![], text: String::new(), logprobs: vec![], held: vec![] }
}

#[test]
fn case_f04_waits_grow_and_the_row_of_crashes_is_bounded() {
    let config = Config { crashes_max: 4, ..Config::default() };
    let mut rig = Rig::new(config);
    rig.come_up();
    let mut waits = vec![];
    loop {
        rig.exit(killed());
        let Some(wait) = rig.down().1 else { break };
        waits.push(wait.as_millis());
        rig.pass_to_deadline();
        rig.come_up();
    }
    assert_eq!(waits, [250, 500, 1000, 2000]);
    assert_eq!(rig.sup.status(), Status::Failed);
    rig.submit(999);
    assert_eq!(failed_code(&rig.events, 999).as_deref(), Some("model_failed"));
}

#[test]
fn case_f04_poison_sent_over_and_over_never_ends_the_service() {
    let config = Config { crashes_max: 1, ..Config::default() };
    let mut rig = Rig::new(config);
    rig.come_up();
    let mut waits = vec![];
    for death in 0..10 {
        let id = death / 2 + 1;
        if death % 2 == 0 {
            rig.submit(id);
        }
        rig.exit(killed());
        assert_eq!(failed_code(&rig.events, id).is_some(), death % 2 == 1, "failed at its second death");
        waits.push(rig.down().1.expect("it is restarted").as_millis());
        rig.pass_to_deadline();
        rig.come_up();
    }
    assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    assert_eq!(rig.sup.status(), Status::Ready);
}

#[test]
fn case_f04_others_served_between_two_crashes_end_the_row() {
    let config = Config { crashes_max: 1, ..Config::default() };
    let mut rig = Rig::new(config);
    rig.come_up();
    for round in 0..20 {
        rig.frame(finished(2 * round));
        rig.submit(2 * round + 1);
        rig.frame(finished(2 * round + 1));
        rig.submit(2 * round + 2);
        rig.exit(killed());
        assert_eq!(rig.down().1, Some(Duration::from_millis(250)));
        rig.pass_to_deadline();
        rig.come_up();
    }
}

#[test]
fn a_worker_that_dies_before_it_was_ever_ready_is_fatal() {
    let mut rig = Rig::new(Config::default());
    rig.spawned();
    rig.exit(Exit { status: ExitStatus::Code { code: 127 }, stderr: vec!["libx.so: not found".into()] });
    let Some(Event::Down { death, restart_in: None }) = rig.events.last() else { panic!("not down") };
    assert!(death.refusal.message.contains("before it was up: exit code 127"));
    assert_eq!(death.stderr, ["libx.so: not found"]);
    assert_eq!(rig.sup.status(), Status::Failed);
}

/// A rig whose worker has died and whose successor is about to say how its load went. Job 1 waits.
fn loading_again() -> Rig {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.exit(killed());
    rig.pass_to_deadline();
    rig.spawned();
    rig.frame(hello());
    rig.take_events();
    rig
}

#[test]
fn a_load_that_no_restart_can_change_ends_the_waiting_at_once_with_the_reason() {
    for code in ["no_such_model", "truncated_model", "unsupported_runtime", "incompatible_library"] {
        let mut rig = loading_again();
        rig.frame(ToDaemon::LoadFailed(Refusal::new(code, "it is not what it was")));
        rig.exit(Exit { status: ExitStatus::Code { code: 1 }, stderr: vec![] });
        let Some(Event::Failed { refusal, .. }) = rig.events.first() else { panic!("{:?}", rig.events) };
        assert_eq!(
            (&*refusal.code, refusal.message.contains("it is not what it was")),
            ("model_unavailable", true)
        );
        assert_eq!(rig.down().1, None, "{code}");
        assert_eq!((rig.sup.status(), rig.sup.poll_timeout()), (Status::Failed, None));
    }
    // A program that is gone, and one that became another version's.
    let gone = |rig: &mut Rig| {
        rig.act(|sup, now| {
            sup.handle_spawned(Life(2), Err(Refusal::new("worker_missing", "no such file")), now)
        })
    };
    let other = |rig: &mut Rig| {
        rig.spawned();
        rig.frame(ToDaemon::Hello { protocol: PROTOCOL + 1, runtime: "mock".into(), version: "9".into() });
        rig.exit(killed());
        Ok(())
    };
    for begin in [&gone as &dyn Fn(&mut Rig) -> Result<(), Misuse>, &other] {
        let mut rig = Rig::ready();
        rig.exit(killed());
        rig.pass_to_deadline();
        rig.take_events();
        begin(&mut rig).unwrap();
        assert_eq!(rig.down().1, None);
    }
}

#[test]
fn a_load_that_may_succeed_later_is_tried_again_and_so_is_a_worker_that_served() {
    for code in ["not_enough_memory", "context_not_made", "never_heard_of"] {
        let mut rig = loading_again();
        rig.frame(ToDaemon::LoadFailed(Refusal::new(code, "not now")));
        rig.exit(Exit { status: ExitStatus::Code { code: 1 }, stderr: vec![] });
        assert_eq!(failed_code(&rig.events, 1), None);
        assert!(rig.down().1.is_some(), "{code}");
    }
    let mut rig = Rig::ready();
    rig.frame(ToDaemon::Fatal(Refusal::new("bad_model", "a tensor went bad")));
    rig.exit(Exit { status: ExitStatus::Code { code: 1 }, stderr: vec![] });
    assert!(rig.down().1.is_some(), "it had loaded");
}

#[test]
fn what_an_earlier_life_says_changes_nothing() {
    let mut rig = Rig::ready();
    rig.exit(killed());
    rig.pass_to_deadline();
    rig.spawned();
    rig.act(|sup, now| sup.handle_frame(Life(1), hello(), now));
    assert_eq!(rig.sup.status(), Status::Restarting);
    let late = rig.act(|sup, now| sup.handle_exit(Life(1), killed(), now));
    assert_eq!(late, Err(Misuse::UnknownEffect(1)));
    rig.act(|sup, now| sup.handle_link_error(Life(1), "junk", now));
    assert_eq!(rig.effects.last(), Some(&Effect::Spawn { life: Life(2) }));
}

#[test]
fn draining_has_a_deadline_and_stop_has_none() {
    let mut rig = Rig::ready();
    rig.submit(1);
    rig.act(Supervisor::drain);
    while rig.effects.len() < 2 {
        rig.pass_to_deadline();
        if let Some(ToWorker::Ping { n }) = rig.sends.last().cloned() {
            rig.frame(ToDaemon::Pong { n, stats: Stats::default() });
        }
    }
    assert_eq!(rig.now, Instant::ORIGIN + Config::default().drain);
    assert_eq!(failed_code(&rig.events, 1).as_deref(), Some("shutting_down"));
    rig.exit(killed());
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 1 }));

    let mut rig = Rig::new(Config::default());
    rig.act(Supervisor::stop);
    rig.spawned();
    assert_eq!(rig.effects.last(), Some(&Effect::Kill { life: Life(1) }));
    rig.exit(killed());
    assert_eq!(rig.events, [Event::Stopped { cut: 0 }]);
}

#[test]
fn what_a_stop_cuts_is_counted_and_what_was_cancelled_is_not() {
    let mut rig = Rig::new(Config { drain: Duration::ZERO, ..Config::default() });
    rig.come_up();
    (1..=4).for_each(|id| rig.submit(id));
    rig.frame(finished(1));
    rig.act(|sup, now| sup.cancel(JobId(2), now));
    rig.act(Supervisor::drain);
    assert_eq!(failed_code(&rig.events, 3), None, "time passes only when it is told");
    rig.pass_to_deadline();
    rig.exit(killed());
    assert_eq!(rig.events.last(), Some(&Event::Stopped { cut: 2 }));
}

#[test]
fn a_worker_that_is_told_to_go_and_stays_is_killed() {
    let mut rig = Rig::ready();
    rig.act(Supervisor::drain);
    assert_eq!(rig.sends.last(), Some(&ToWorker::Drain));
    rig.pass_to_deadline();
    assert_eq!(rig.effects.last(), Some(&Effect::Kill { life: Life(1) }));
    assert!(rig.sup.poll_timeout().is_none());
}

#[test]
fn the_number_of_jobs_of_a_class_is_bounded() {
    let mut rig = Rig::new(Config { jobs_max: 2, ..Config::default() });
    rig.come_up();
    for id in 1..=3 {
        rig.submit(id);
    }
    assert_eq!(failed_code(&rig.events, 3).as_deref(), Some("overloaded"));
    for (id, class) in [(4, Class::Interactive), (5, Class::Background)] {
        rig.act(|sup, now| sup.submit(Submit { class, ..submit(id) }, now)).unwrap();
        assert_eq!(failed_code(&rig.events, id), None, "a flood of one class closes no door to another");
    }
    assert_eq!(rig.act(|sup, now| sup.submit(submit(2), now)), Err(Misuse::DuplicateId(2)));
}

#[test]
fn case_k08_jobs_that_ended_are_not_counted_until_the_next_pong() {
    let mut rig = Rig::ready();
    for id in 1..=3 {
        rig.submit(id);
    }
    rig.pass_to_deadline();
    let Some(ToWorker::Ping { n }) = rig.sends.last().cloned() else { panic!("no ping") };
    rig.frame(ToDaemon::Pong { n, stats: Stats { running: 2, waiting: 1, ..Stats::default() } });
    let counted = |rig: &Rig| (rig.sup.stats().running, rig.sup.stats().waiting);
    assert_eq!(counted(&rig), (2, 1));
    rig.frame(finished(1));
    assert_eq!(counted(&rig), (2, 0));
    rig.frame(finished(2));
    rig.frame(finished(3));
    assert_eq!(counted(&rig), (0, 0));
}

#[test]
fn numbers_a_worker_tells_unasked_are_current_and_counts_go_on_over_its_lives() {
    let mut rig = Rig::ready();
    rig.submit(1);
    let stats = Stats { running: 1, preempted: 2, reused: [3, u64::MAX, 0], ..Stats::default() };
    let stats = Stats { prefilled: [1, 2, 3], ..stats };
    rig.frame(ToDaemon::Stats(stats));
    assert_eq!(rig.sup.stats(), stats);
    rig.exit(killed());
    rig.pass_to_deadline();
    rig.come_up();
    assert_eq!(rig.sup.stats(), Stats::default());
    rig.frame(ToDaemon::Stats(stats));
    let (reused, prefilled) = ([6, u64::MAX, 0], [2, 4, 6]);
    let totals = Totals { restarts: 1, continued: 1, preempted: 4, reused, prefilled };
    assert_eq!(rig.sup.totals(), totals);
}
