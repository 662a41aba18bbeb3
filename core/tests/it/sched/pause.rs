//! Jobs whose clients take nothing.

use super::world::World;
use super::{ENGINE, cached, job, of_class, prompt, runs, world};
use superfluid_core::Refusal;
use superfluid_core::sched::{Class, Config, Cut, Engine, JobId, StepFault};

#[test]
fn a_paused_job_runs_no_further_until_it_is_resumed() {
    let mut world = world(ENGINE);
    for id in 0..2 {
        world.submit(job(id, &prompt(id as u32, 10, 9), 9)).expect("room");
    }
    world.tick();
    assert!(world.pause(JobId(0), true));
    assert!(!world.pause(JobId(0), true), "twice");
    // The step in flight was planned before.
    world.tick();
    let said = world.entry(JobId(0)).tokens.len();
    for _ in 0..3 {
        assert_eq!(runs(world.step.as_ref(), 0), 0);
        world.tick();
    }
    assert_eq!(world.entry(JobId(0)).tokens.len(), said);
    assert_eq!((world.scheduler.paused(), world.scheduler.running(Class::Agent)), (1, 2));
    assert!(world.pause(JobId(0), false));
    world.tick();
    assert_eq!(runs(world.step.as_ref(), 0), 1);
    world.run();
    assert_eq!(world.entry(JobId(0)).tokens.len(), 9);
}

/// With all others done there is nothing to run, and nothing is run.
#[test]
fn a_scheduler_whose_jobs_are_paused_rests() {
    let mut world = world(ENGINE);
    world.submit(job(0, &prompt(0, 10, 9), 9)).expect("room");
    world.pause(JobId(0), true);
    world.tick();
    assert!(world.step.is_none() && world.scheduler.is_resting() && !world.scheduler.is_idle());
    world.pause(JobId(0), false);
    assert_eq!(runs(world.step.as_ref(), 0), 1);
    world.run();
}

/// The lane goes to whoever waits; what the job had run is not run again.
#[test]
fn a_paused_job_gives_its_lane_up_and_keeps_its_state() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        let mut world = world(Engine { lanes: 1, seqs: 3, cut, ..ENGINE });
        world.submit(job(0, &prompt(0, 40, 9), 9)).expect("room");
        world.tick();
        world.tick();
        world.submit(of_class(Class::Background, job(1, &prompt(1, 20, 3), 3))).expect("room");
        world.tick();
        assert_eq!(runs(world.step.as_ref(), 1), 0, "the lane is taken");
        world.pause(JobId(0), true);
        world.tick();
        assert_eq!(runs(world.step.as_ref(), 1), 20, "{cut:?}");
        assert_eq!(world.scheduler.waiting(Class::Agent), 1);
        while world.step.is_some() {
            world.tick();
        }
        assert_eq!(world.entry(JobId(1)).tokens.len(), 3);
        world.pause(JobId(0), false);
        assert_eq!(runs(world.step.as_ref(), 0), 1, "its state was kept");
        world.run();
        let entry = world.entry(JobId(0));
        assert_eq!((entry.tokens.len(), entry.ran), (9, 40 + 8), "nothing was run twice");
        assert_eq!(cached(&mut world, 0), 0);
    }
}

/// One that waits does not take a lane, and one that has none any more can be cancelled.
#[test]
fn a_job_is_paused_where_it_waits_and_ends_where_it_is() {
    let mut world = World::new(Config { class_lanes: [1; 3], ..Config::new(Engine { lanes: 2, ..ENGINE }) });
    for id in 0..3 {
        world.submit(job(id, &prompt(id as u32, 10, 9), 9)).expect("room");
    }
    world.pause(JobId(1), true);
    world.pause(JobId(0), true);
    world.tick();
    assert_eq!([0, 1, 2].map(|id| runs(world.step.as_ref(), id)), [0, 0, 10], "its class has one lane");
    assert!(world.cancel(JobId(0)));
    assert!(world.scheduler.contains(JobId(1)));
    world.fail(StepFault::Fatal { refusal: Refusal::new("fatal", "the engine died") });
    assert!(world.scheduler.is_idle());
    world.check_all_ended();
}
