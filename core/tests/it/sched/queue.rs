//! Who is next: class, order, age.

use super::world::World;
use super::{ENGINE, job, of_class, prompt};
use superfluid_core::Duration;
use superfluid_core::sched::{Class, Config, Engine, JobId};

const AGE: Duration = Duration::from_millis(10);

fn one_lane() -> World {
    World::new(Config { age_after: AGE, ..Config::new(Engine { lanes: 1, seqs: 2, ..ENGINE }) })
}

/// The order in which jobs first ran.
fn order(world: &World) -> Vec<u64> {
    let mut seen = Vec::new();
    for rows in world.steps.iter().flat_map(|step| &step.rows) {
        if !seen.contains(&rows.job.0) {
            seen.push(rows.job.0);
        }
    }
    seen
}

#[test]
fn the_higher_class_goes_first_and_a_class_is_a_queue() {
    use Class::{Agent, Background, Interactive};
    let mut world = one_lane();
    let classes = [Agent, Background, Agent, Interactive, Background, Interactive];
    for (id, class) in classes.into_iter().enumerate() {
        world.submit(of_class(class, job(id as u64, &prompt(id as u32, 5, 2), 2))).expect("room");
    }
    world.run();
    // Job 0 had the lane before the others came.
    assert_eq!(order(&world), [0, 3, 5, 2, 1, 4]);
}

/// The bound: a job is overtaken only by jobs that come within `rank × age_after` after it.
#[test]
fn a_waiting_job_is_overtaken_only_until_it_has_aged() {
    for (class, rank) in [(Class::Interactive, 0), (Class::Agent, 1), (Class::Background, 2)] {
        let mut world = one_lane();
        let urgent = |id: u64| of_class(Class::Interactive, job(id, &prompt(id as u32, 5, 2), 2));
        let came = world.now;
        world.submit(urgent(0)).expect("room");
        world.submit(of_class(class, job(1, &prompt(1, 5, 2), 2))).expect("room");
        let (mut id, mut late) = (2, Vec::new());
        while !order(&world).contains(&1) {
            // Interactive jobs keep coming faster than they can be served.
            for _ in 0..3 {
                world.submit(urgent(id)).expect("room");
                if world.now >= came + AGE * rank {
                    late.push(id);
                }
                id += 1;
            }
            world.complete(super::MILLISECOND, &|_| false);
            assert!(id < 1000, "{class:?} starves");
        }
        let before = order(&world);
        assert!(late.iter().all(|id| !before.contains(id)), "overtaken after it had aged: {before:?}");
        assert_eq!(before.len() > 2, rank > 0, "interactive jobs went first until then: {before:?}");
    }
}

/// A large job at the head is not passed for ever by small ones that would fit.
#[test]
fn a_job_that_does_not_fit_yet_holds_back_those_behind_it() {
    let mut world = World::new(Config::new(Engine { pool_tokens: 100, lanes: 3, seqs: 3, ..ENGINE }));
    world.submit(job(0, &prompt(0, 60, 5), 5)).expect("room");
    world.submit(job(1, &prompt(1, 80, 5), 5)).expect("room");
    for id in 2..20 {
        world.submit(job(id, &prompt(id as u32, 10, 5), 5)).expect("room");
    }
    world.run();
    let first = |id| world.steps.iter().position(|step| super::runs(Some(step), id) > 0);
    assert!(first(1) <= first(2), "passed by one behind it");
    assert_eq!(world.entry(JobId(1)).ran, 84, "run once");
}

/// A class at its cap waits without holding anybody back, and takes no lane from others.
#[test]
fn a_class_has_as_many_lanes_as_it_may_have() {
    use Class::{Agent, Background, Interactive};
    let engine = Engine { lanes: 4, seqs: 8, ..ENGINE };
    let mut world = World::new(Config { class_lanes: [2, 3, 0], ..Config::new(engine) });
    for (class, ids) in [(Background, 0..3), (Agent, 3..8), (Interactive, 8..12)] {
        for id in ids {
            world.submit(of_class(class, job(id, &prompt(id as u32, 5, 20), 20))).expect("room");
        }
        world.tick();
    }
    let running =
        |world: &World| [Interactive, Agent, Background].map(|class| world.scheduler.running(class));
    assert_eq!(running(&world), [2, 2, 0]);
    world.run();
    let mut world = World::new(Config { class_lanes: [2, 3, 0], ..Config::new(engine) });
    for id in 0..8 {
        let class = if id < 4 { Background } else { Agent };
        world.submit(of_class(class, job(id, &prompt(id as u32, 5, 20), 20))).expect("room");
    }
    world.tick();
    assert_eq!(running(&world), [0, 3, 1]);
    world.run();
}
