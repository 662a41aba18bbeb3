//! What breaks, and who pays for it.

use super::world::{Ending, World};
use super::{ENGINE, MILLISECOND, job, prompt, runs, world};
use superfluid_core::sched::{Class, Engine, JobId, SeqOp, StepFault};

fn failed(world: &mut World, id: u64) -> Option<String> {
    match &world.entry(JobId(id)).ending {
        Some(Ending::Failed(refusal)) => Some(refusal.code.clone()),
        _ => None,
    }
}

/// A row's fault ends its job alone, and its sequence is cleared before anything else.
#[test]
fn a_row_that_breaks_ends_its_job_alone() {
    for steps in 0..6 {
        let mut world = world(Engine { step_tokens: 30, lanes: 3, seqs: 3, ..ENGINE });
        for id in 0..3 {
            world.submit(job(id, &prompt(id as u32, 25, 8), 8)).expect("room");
        }
        (0..steps).for_each(|_| world.tick());
        let broken = world.step.as_ref().expect("a step").rows[0].clone();
        world.complete(MILLISECOND, &|row| row == 0);
        let step = world.step.as_ref().expect("a step");
        assert!(step.ops.contains(&SeqOp::Clear { seq: broken.seq }), "{:?}", step.ops);
        world.submit(job(9, &prompt(9, 25, 8), 8)).expect("room");
        world.run();
        let dead: Vec<u64> =
            [0, 1, 2, 9].into_iter().filter(|&id| failed(&mut world, id).is_some()).collect();
        assert_eq!(dead, [broken.job.0]);
    }
}

/// No room although there should be: first kept prefixes go, then the last job waits and nobody is
/// let in until a job has left, then the one that is alone is refused.
#[test]
fn capacity_costs_kept_prefixes_then_the_last_job_then_the_only_one() {
    let mut world = world(ENGINE);
    world.submit(job(0, &prompt(0, 30, 2), 2)).expect("room");
    world.run();
    for id in 1..4 {
        world.submit(job(id, &prompt(id as u32, 20, 9), 9)).expect("room");
    }
    (0..2).for_each(|_| world.tick());
    world.fail(StepFault::Capacity);
    let step = world.step.as_ref().expect("a step");
    assert!(step.ops.iter().any(|op| matches!(op, SeqOp::Clear { .. })), "the kept prefix goes: {step:?}");
    assert_eq!(world.scheduler.running(Class::Agent), 3);
    for left in [2, 1] {
        world.fail(StepFault::Capacity);
        assert_eq!(world.scheduler.running(Class::Agent), left, "the last one waits");
        let step = world.step.as_ref().expect("a step");
        assert!(step.ops.iter().any(|op| matches!(op, SeqOp::Clear { .. })), "and gives its room: {step:?}");
    }
    assert_eq!(world.scheduler.waiting(Class::Agent), 2);
    world.fail(StepFault::Capacity);
    assert_eq!(failed(&mut world, 1).as_deref(), Some("out_of_memory"));
    assert_eq!(world.scheduler.running(Class::Agent), 2, "the others have their turn");
    world.run();
    assert_eq!([2, 3].map(|id| failed(&mut world, id)), [None, None]);
}

/// A step that had no room is tried again first where a job in it was cancelled meanwhile.
#[test]
fn a_step_that_has_become_smaller_is_tried_again() {
    let mut world = world(ENGINE);
    for id in 0..3 {
        world.submit(job(id, &prompt(id as u32, 20, 3), 3)).expect("room");
    }
    world.complete(MILLISECOND, &|_| true);
    assert_eq!((runs(world.step.as_ref(), 1), runs(world.step.as_ref(), 2)), (20, 20));
    world.cancel(JobId(1));
    world.fail(StepFault::Capacity);
    assert_eq!(runs(world.step.as_ref(), 2), 20);
    world.run();
    assert_eq!(failed(&mut world, 2), None);
}

/// An engine with less room than it says serves what really fits, one after the other.
#[test]
fn an_engine_that_promised_too_much_still_serves_what_fits() {
    let mut world = world(Engine { pool_tokens: 400, ..ENGINE });
    world.engine.cells = 120;
    for id in 0..6 {
        world.submit(job(id, &prompt(id as u32, 60, 10), 10)).expect("room");
    }
    world.submit(job(6, &prompt(6, 200, 10), 10)).expect("room, as far as is known");
    world.run();
    let refused: Vec<u64> = (0..7).filter(|&id| failed(&mut world, id).is_some()).collect();
    assert_eq!(refused, [6]);
}

/// A step that was given up is planned anew with who came and without who left.
#[test]
fn a_step_that_was_given_up_is_planned_anew() {
    let mut world = world(ENGINE);
    world.submit(job(0, &prompt(0, 20, 3), 3)).expect("room");
    world.submit(job(1, &prompt(1, 20, 3), 3)).expect("room");
    world.cancel(JobId(0));
    world.give_up(0);
    assert_eq!((runs(world.step.as_ref(), 0), runs(world.step.as_ref(), 1)), (0, 20));
    world.run();
}
