//! Urgent jobs take the lanes of others.

use super::world::World;
use super::{ENGINE, MILLISECOND, job, of_class, prompt, runs, world};
use superfluid_core::Duration;
use superfluid_core::sched::{Class, Config, Copying, Cut, Engine, Job, JobId};

use Class::{Agent, Background, Interactive};

fn of(class: Class, id: u64, len: u32, tokens: u32) -> Job {
    of_class(class, job(id, &prompt(id as u32, len, tokens as usize), tokens))
}

/// The jobs that have rows in the step in flight.
fn running(world: &World) -> Vec<u64> {
    let mut jobs: Vec<u64> = world.step.iter().flat_map(|step| &step.rows).map(|rows| rows.job.0).collect();
    jobs.sort_unstable();
    jobs
}

/// The next step is the urgent job's, and the other goes on where it was: each of its tokens ran
/// once, whether it was in its prompt or in its reply.
#[test]
fn an_urgent_job_is_in_the_next_step_and_the_other_resumes() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        for steps in [1, 2, 5, 9] {
            let mut world = world(Engine { lanes: 1, seqs: 2, step_tokens: 30, cut, ..ENGINE });
            world.submit(of(Background, 0, 100, 20)).expect("room");
            (0..steps).for_each(|_| world.tick());
            world.submit(of(Interactive, 1, 20, 5)).expect("room");
            world.tick();
            assert_eq!((runs(world.step.as_ref(), 0), runs(world.step.as_ref(), 1)), (0, 20));
            world.run();
            assert_eq!(world.entry(JobId(0)).ran, 119, "{cut:?}, {steps}");
        }
    }
}

/// Without a sequence to spare the state is lost, and run again; the reply is the same (the world
/// compares it).
#[test]
fn without_a_spare_sequence_the_state_is_run_again() {
    let mut world = world(Engine { lanes: 1, seqs: 1, ..ENGINE });
    world.submit(of(Background, 0, 100, 20)).expect("room");
    (0..9).for_each(|_| world.tick());
    world.submit(of(Interactive, 1, 20, 5)).expect("room");
    world.run();
    assert!(world.entry(JobId(0)).ran > 200, "{}", world.entry(JobId(0)).ran);
}

/// The lowest class first, in it who decodes, of those the last one.
#[test]
fn the_lane_that_loses_least_is_taken() {
    let mut world = world(Engine { lanes: 5, seqs: 12, ..ENGINE });
    world.submit(of(Agent, 0, 5, 90)).expect("room");
    world.submit(of(Background, 1, 5, 90)).expect("room");
    world.submit(of(Background, 2, 5, 90)).expect("room");
    world.tick();
    world.submit(of(Background, 3, 900, 3)).expect("room");
    world.submit(of(Interactive, 4, 5, 90)).expect("room");
    (0..3).for_each(|_| world.tick());
    let mut left = vec![0, 1, 2, 3, 4];
    for (urgent, leaves) in [(10, 2), (11, 1), (12, 3), (13, 0)] {
        assert_eq!(running(&world), left);
        world.submit(of(Interactive, urgent, 5, 90)).expect("room");
        world.tick();
        left.retain(|&id| id != leaves);
        left.push(urgent);
    }
    assert_eq!(running(&world), left);
    world.submit(of(Interactive, 14, 5, 9)).expect("room");
    world.tick();
    assert_eq!(running(&world), left, "nobody is less urgent");
    world.run();
}

#[test]
fn several_urgent_jobs_take_as_many_lanes_at_once() {
    for (low, high) in [(Background, Agent), (Agent, Interactive), (Background, Interactive)] {
        let mut world = world(Engine { lanes: 4, seqs: 8, ..ENGINE });
        for id in 0..4 {
            world.submit(of(low, id, 10, 40)).expect("room");
        }
        (0..5).for_each(|_| world.tick());
        for id in 10..13 {
            world.submit(of(high, id, 10, 9)).expect("room");
        }
        world.tick();
        assert_eq!(running(&world), [0, 10, 11, 12]);
        world.run();
        let ran: Vec<usize> = (0..4).map(|id| world.entry(JobId(id)).ran).collect();
        assert_eq!(ran, [49; 4]);
    }
}

/// Room for a large urgent job is made from as many others as it takes, or from nobody.
#[test]
fn cells_are_taken_from_as_many_as_it_takes() {
    for (len, stay) in [(50, 3), (150, 2), (240, 1), (390, 0)] {
        let mut world = world(Engine { lanes: 4, seqs: 8, pool_tokens: 400, ..ENGINE });
        for id in 0..4 {
            world.submit(of(Background, id, 64, 30)).expect("room");
        }
        (0..6).for_each(|_| world.tick());
        world.submit(of(Interactive, 9, len, 3)).expect("room");
        world.tick();
        assert_eq!(world.scheduler.running(Background), stay, "{len}");
        assert_eq!(world.scheduler.running(Interactive), 1);
        world.run();
    }
    let mut world = world(Engine { lanes: 3, seqs: 8, pool_tokens: 400, ..ENGINE });
    world.submit(of(Interactive, 0, 200, 60)).expect("room");
    world.submit(of(Background, 1, 64, 30)).expect("room");
    (0..9).for_each(|_| world.tick());
    world.submit(of(Interactive, 9, 250, 3)).expect("room");
    world.tick();
    assert_eq!(running(&world), [0, 1], "what the background job has is not enough");
    world.run();
}

/// Urgent jobs that never stop coming leave a bounded wait, and are not made to move others in and
/// out: what had waited for its lane keeps it as long.
#[test]
fn case_k11_a_flood_of_urgent_jobs_moves_nobody_in_and_out() {
    for seqs in [2, 3] {
        let engine = Engine { lanes: 2, seqs, step_tokens: 50, ..ENGINE };
        let age_after = Duration::from_millis(20);
        let mut world = World::new(Config { age_after, ..Config::new(engine) });
        world.submit(of(Background, 0, 200, 40)).expect("room");
        world.submit(of(Agent, 1, 200, 40)).expect("room");
        let mut id = 10;
        while world.entry(JobId(0)).ending.is_none() || world.entry(JobId(1)).ending.is_none() {
            for _ in 0..2 {
                if world.scheduler.waiting(Interactive) < 4 {
                    world.submit(of(Interactive, id, 10, 4)).expect("room");
                    id += 1;
                }
            }
            world.complete(MILLISECOND, &|_| false);
            assert!(id < 2000, "they starve");
        }
        for low in 0..2 {
            let mut lanes = 0;
            let mut before = false;
            for step in &world.steps {
                let now = runs(Some(step), low) > 0;
                lanes += usize::from(now && !before);
                before = now;
            }
            let ran = world.entry(JobId(low)).ran;
            assert!(lanes <= 12, "job {low} ran in {lanes} pieces");
            assert!(ran <= 239 * (lanes + 1), "{ran}");
        }
        world.run();
    }
}

/// An urgent job that waits for a head takes its lane once the head is there.
#[test]
fn an_urgent_job_waits_for_a_head_before_it_takes_a_lane() {
    let engine = Engine { lanes: 2, seqs: 4, seq_tokens: 4000, pool_tokens: 16_000, ..ENGINE };
    let mut world = world(Engine { copying: Copying::Shares, ..engine });
    let head = prompt(1, 1500, 0);
    let end = |own: u32| head.iter().copied().chain([900 + own, 7, 7]).collect::<Vec<_>>();
    world.submit(of(Agent, 0, 5, 90)).expect("room");
    world.submit(job(1, &end(1), 3)).expect("room");
    (0..3).for_each(|_| world.tick());
    world.submit(of_class(Interactive, job(2, &end(2), 3))).expect("room");
    world.tick();
    assert_eq!(running(&world), [0, 1], "it waits");
    world.run();
    assert_eq!(super::cached(&mut world, 2), 1500);
}
