//! Jobs that share a long head with one that is still running it, or has long run it.

use super::world::{Ending, World};
use super::{ENGINE, MILLISECOND, cached, job, of_class, prompt, runs, world};
use superfluid_core::sched::{Class, Config, Copying, Cut, Engine, JobId, SeqOp, Token};

/// Room for all, and copies that share cells.
const WIDE: Engine = Engine { seq_tokens: 4000, pool_tokens: 40_000, copying: Copying::Shares, ..ENGINE };

/// `head` with an end of its own.
fn branch(head: &[Token], own: u32) -> Vec<Token> {
    head.iter().copied().chain((0..10).map(|at| 700 + own * 20 + at)).collect()
}

/// Tokens run for jobs `0..count`.
fn ran(world: &mut World, count: u64) -> usize {
    (0..count).map(|id| world.entry(JobId(id)).ran).sum()
}

/// What a running job holds is there for others, where a copy costs less than it saves.
#[test]
fn a_running_jobs_head_is_copied_where_that_pays() {
    for (copying, len, reused) in [
        (Copying::Shares, 300, true),
        (Copying::Shares, 20, true),
        (Copying::Duplicates, 300, true),
        (Copying::Duplicates, 100, false),
        (Copying::Never, 300, false),
    ] {
        let mut world = world(Engine { copying, ..WIDE });
        let head = prompt(1, len, 60);
        world.submit(job(0, &head, 60)).expect("room");
        while world.entry(JobId(0)).tokens.is_empty() {
            world.tick();
        }
        world.submit(job(1, &branch(&head, 1), 3)).expect("room");
        world.tick();
        assert_eq!(world.entry(JobId(0)).ending, None, "it still runs");
        world.run();
        assert_eq!(cached(&mut world, 1), if reused { len } else { 0 }, "{copying:?}, {len}");
    }
}

/// Half of a prompt is as good as a whole one, where it need not be waited for.
#[test]
fn what_a_prompt_has_run_so_far_is_copied() {
    let mut world = world(WIDE);
    let head = prompt(1, 900, 3);
    world.submit(job(0, &head, 3)).expect("room");
    (0..4).for_each(|_| world.tick());
    world.submit(job(1, &branch(&head, 1), 3)).expect("room");
    world.run();
    assert_eq!(cached(&mut world, 1), 64 * 5, "five steps had completed");
}

/// Whoever waits for a head is no reason for others to wait.
#[test]
fn a_job_that_waits_for_a_head_holds_nobody_back() {
    let mut world = world(WIDE);
    let head = prompt(1, 1500, 0);
    for id in 0..2 {
        world.submit(job(id, &branch(&head, id as u32), 3)).expect("room");
    }
    world.submit(job(2, &prompt(2, 10, 3), 3)).expect("room");
    world.tick();
    let step = world.step.as_ref();
    assert_eq!((runs(step, 1), runs(step, 2)), (0, 10), "{step:?}");
    world.run();
    assert_eq!(cached(&mut world, 1), 1500);
}

/// The lane of a job that waits is kept for it: it is not passed by those that came after it.
#[test]
fn a_job_that_waits_for_a_head_keeps_its_place() {
    let mut world = world(Engine { lanes: 2, seqs: 2, ..WIDE });
    let head = prompt(1, 1500, 0);
    for id in 0..2 {
        world.submit(job(id, &branch(&head, id as u32), 3)).expect("room");
    }
    world.submit(job(2, &prompt(2, 10, 3), 3)).expect("room");
    world.run();
    let first = |id| world.steps.iter().position(|step| runs(Some(step), id) > 0);
    assert!(first(1) < first(2), "{:?}, {:?}", first(1), first(2));
}

/// Somebody urgent who waits for a head lends its urgency to the job that runs it.
#[test]
fn a_head_that_somebody_urgent_waits_for_is_run_first() {
    let mut world = world(WIDE);
    let head = prompt(1, 1500, 0);
    world.submit(of_class(Class::Background, job(0, &branch(&head, 0), 3))).expect("room");
    world.submit(job(1, &prompt(2, 1200, 3), 3)).expect("room");
    (0..4).for_each(|_| world.tick());
    world.submit(of_class(Class::Interactive, job(2, &branch(&head, 2), 3))).expect("room");
    world.tick();
    let step = world.step.as_ref();
    assert_eq!((runs(step, 0), runs(step, 1), runs(step, 2)), (64, 0, 0), "{step:?}");
    while world.entry(JobId(2)).tokens.is_empty() {
        assert!(runs(world.step.as_ref(), 1) < 64, "the agent goes first");
        world.tick();
    }
    world.run();
    assert_eq!(cached(&mut world, 2), 1500);
}

/// Whoever is waited for may leave or break at any step: another runs what was lost, and all end.
#[test]
fn a_job_that_is_waited_for_may_leave_or_break() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        for (steps, breaks) in [(0, true), (5, false), (5, true), (23, false), (24, true)] {
            let mut world = world(Engine { cut, ..WIDE });
            let head = prompt(1, 1500, 0);
            for id in 0..4 {
                world.submit(job(id, &branch(&head, id as u32), 3)).expect("room");
            }
            (0..steps).for_each(|_| world.tick());
            if breaks {
                world.complete(MILLISECOND, &|row| row == 0);
            } else {
                world.cancel(JobId(0));
            }
            world.run();
            let lost = if breaks { (steps + 1) * 64 } else { 0 };
            let all = ran(&mut world, 4);
            assert!(all <= 1500 + lost + 100, "{cut:?}, {steps}, {breaks}: {all} tokens were run");
            let ended = |id: u64, world: &mut World| world.entry(JobId(id)).ending.clone();
            let well =
                (1..4).filter(|&id| matches!(ended(id, &mut world), Some(Ending::Finished(..)))).count();
            assert_eq!(well, 3);
        }
    }
}

/// A state that cannot be cut stops where followers part from it, nearest first.
#[test]
fn a_state_that_cannot_be_cut_is_forked_where_prompts_part() {
    // None is kept where prompts end, so that forks alone are counted.
    let engine = Engine { cut: Cut::HeadOnly, ..WIDE };
    let mut world = World::new(Config { keep_from: 5000, ..Config::new(engine) });
    let head = prompt(1, 1500, 0);
    for (id, len) in [(0, 1500), (1, 1210), (2, 1400), (3, 1500)] {
        world.submit(job(id, &branch(&head[..len], id as u32), 3)).expect("room");
    }
    world.run();
    assert_eq!([1, 2, 3].map(|id| cached(&mut world, id)), [1210, 1400, 1500]);
    let copies = |op: &&SeqOp| matches!(op, SeqOp::Copy { .. });
    assert_eq!(world.steps.iter().flat_map(|step| &step.ops).filter(copies).count(), 3);
}

/// A short shared head is not waited for.
#[test]
fn a_short_head_is_not_waited_for() {
    let mut world = world(WIDE);
    let head = prompt(1, 40, 0);
    for id in 0..2 {
        world.submit(job(id, &branch(&head, id as u32), 3)).expect("room");
    }
    world.tick();
    assert!(runs(world.step.as_ref(), 1) > 0);
    world.run();
}

/// What is kept for waiting jobs never stands in the way of the one that runs.
#[test]
fn no_head_is_kept_where_there_is_no_room_for_it() {
    let mut world = world(Engine { cut: Cut::HeadOnly, lanes: 1, seqs: 3, ..WIDE });
    world.engine.cells = 1100;
    let talk = prompt(1, 1024, 4);
    for id in 0..3 {
        world.submit(job(id, &talk, 4)).expect("room");
    }
    world.run();
    let said: Vec<usize> = (0..3).map(|id| world.entry(JobId(id)).tokens.len()).collect();
    assert_eq!(said, [4; 3]);
}
