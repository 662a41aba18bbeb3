//! What is asked of the scheduler, and what it refuses.

use super::world::{Ending, World, alone};
use super::{ENGINE, job, prompt, runs, world};
use superfluid_core::sched::{Class, Config, Engine, Finish, Job, JobId, Scheduler, StepFault, Usage};
use superfluid_core::{Instant, Refusal};

fn code(result: Result<(), Refusal>) -> String {
    result.expect_err("a refusal").code
}

#[test]
fn what_can_never_run_is_refused() {
    let mut world = world(Engine { seq_tokens: 10, ..ENGINE });
    assert_eq!(code(world.submit(job(1, &[], 5))), "invalid_prompt");
    assert_eq!(code(world.submit(job(1, &[1], 0))), "invalid_max_tokens");
    assert_eq!(code(world.submit(Job { committed: 2, ..job(1, &[1, 2], 5) })), "invalid_prompt");
    let refusal = world.submit(job(1, &[7; 10], 5)).expect_err("no room for a reply");
    assert_eq!(refusal.code, "context_length_exceeded");
    assert_eq!(
        refusal.message,
        "the prompt has 10 tokens, but the model's context holds 10 tokens, prompt and reply together"
    );
    world.submit(job(1, &prompt(1, 9, 1), 5)).expect("room for one");
    assert_eq!(code(world.submit(job(1, &[1], 5))), "duplicate_id");
    world.run();
    assert_eq!(world.entry(JobId(1)).tokens.len(), 1);
    world.submit(job(1, &[1], 5)).expect("the id is free again");
    world.run();
}

/// A pool smaller than a sequence shortens the window.
#[test]
fn the_window_is_what_the_pool_can_hold() {
    let mut world = world(Engine { pool_tokens: 20, ..ENGINE });
    assert_eq!(world.scheduler.window(), 20);
    world.submit(job(1, &prompt(1, 10, 50), 50)).expect("room");
    world.run();
    assert_eq!(world.entry(JobId(1)).tokens.len(), 10);
}

#[test]
fn a_full_queue_refuses_its_class_only() {
    let mut world = World::new(Config { queue_per_class: 2, ..Config::new(Engine { lanes: 1, ..ENGINE }) });
    for id in 0..3 {
        world.submit(job(id, &prompt(id as u32, 5, 3), 3)).expect("one runs, two wait");
    }
    assert_eq!(code(world.submit(job(3, &[1], 3))), "overloaded");
    world.submit(super::of_class(Class::Interactive, job(3, &[1], 3))).expect("another class");
    assert_eq!([0, 1, 2].map(|at| world.scheduler.waiting(Class::ALL[at])), [1, 2, 0]);
    world.run();
    assert_eq!([0, 1, 2].map(|at| world.scheduler.waiting(Class::ALL[at])), [0, 0, 0]);
}

/// A job continued after any of its tokens says the rest of them, and the bill is the same.
#[test]
fn a_continued_job_goes_on_where_it_was() {
    let talk = prompt(1, 12, 9);
    let course = alone(&job(0, &talk, 9), &ENGINE).tokens;
    for said in 0..=9_usize {
        let mut world = world(ENGINE);
        let mut prompt = talk.clone();
        prompt.extend(&course[..said]);
        world.submit(Job { committed: said as u32, ..job(1, &prompt, 9) }).expect("room");
        world.run();
        assert_eq!(world.entry(JobId(1)).tokens, course[said..]);
        let usage = Usage { prompt: 12, cached: 0, completion: 9 };
        assert_eq!(world.entry(JobId(1)).ending, Some(Ending::Finished(Finish::Length, usage)));
    }
}

#[test]
fn a_fatal_fault_fails_every_job_and_takes_no_more() {
    let mut world = world(Engine { lanes: 2, ..ENGINE });
    for id in 0..5 {
        world.submit(job(id, &prompt(id as u32, 5, 3), 3)).expect("room");
    }
    world.tick();
    let refusal = Refusal::new("device_lost", "the device is gone");
    world.fail(StepFault::Fatal { refusal: refusal.clone() });
    for id in 0..5 {
        assert_eq!(world.entry(JobId(id)).ending, Some(Ending::Failed(refusal.clone())));
    }
    assert!(world.step.is_none() && world.scheduler.is_idle());
    assert_eq!(world.submit(job(9, &[1], 1)), Err(refusal));
}

/// An engine whose numbers contradict each other is made to make sense.
#[test]
fn an_engine_has_at_least_what_a_lane_needs() {
    let none = Engine { lanes: 0, seqs: 0, step_tokens: 0, ..ENGINE };
    let engine = *Scheduler::new(Config::new(none)).engine();
    assert_eq!((engine.lanes, engine.seqs, engine.step_tokens), (1, 1, 1));
    let mut world = world(Engine { step_tokens: 0, ..ENGINE });
    for id in 0..6 {
        world.submit(job(id, &prompt(id as u32, 9, 3), 3)).expect("room");
    }
    world.run();
}

/// Time that goes backwards is held.
#[test]
fn a_clock_that_jumps_back_does_no_harm() {
    let mut scheduler = Scheduler::new(Config::new(ENGINE));
    scheduler.submit(job(1, &[1, 2], 2), Instant::from_millis(500)).expect("room");
    scheduler.submit(job(2, &[1, 2], 2), Instant::ORIGIN).expect("room");
    let step = scheduler.poll_step(Instant::ORIGIN);
    assert_eq!((runs(step.as_ref(), 1), runs(step.as_ref(), 2)), (2, 2));
    scheduler.check_invariants().expect("invariants");
}
