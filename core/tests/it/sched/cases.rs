//! Cases others met, each as a test.

use super::world::{Ending, World, alone};
use super::{ENGINE, cached, job, prompt, runs, world};
use superfluid_core::sched::{Class, Copying, Cut, Engine, Finish, JobId, SeqOp, StepFault};

/// A lane must never get another conversation's state, however many prefixes come and go.
#[test]
fn case_k01_families_in_a_small_pool_never_mix() {
    for copying in [Copying::Never, Copying::Shares, Copying::Duplicates] {
        let mut world = world(Engine { pool_tokens: 150, seqs: 7, copying, ..ENGINE });
        for id in 0..300_u64 {
            let (family, depth) = ((id % 3) as u32, (id * id % 11) as u32);
            let mut talk = prompt(family, 20, 0);
            talk.extend((0..depth * 2).map(|at| family + at));
            world.submit(job(id, &talk, 1 + (id % 9) as u32)).expect("room");
            if id % 5 == 0 {
                world.cancel(JobId(id.saturating_sub(3)));
            }
            world.tick();
        }
        world.run();
        let ops: Vec<SeqOp> = world.steps.iter().flat_map(|step| step.ops.clone()).collect();
        assert!(ops.iter().any(|op| matches!(op, SeqOp::Clear { .. })), "nothing was evicted");
        let reused = (0..300).filter(|&id| world.entry(JobId(id)).started > Some(0)).count();
        assert!(reused > 100, "only {reused} prefixes were reused");
    }
}

/// A prefix is visible only once the step that ran it has completed. Thirty-two jobs of one new
/// prefix run it once, or once more where the job that all wait for leaves or breaks half-way.
#[test]
fn case_k03_identical_new_prompts_run_once_and_never_read_what_is_not_there() {
    let talk = prompt(1, 1024, 4);
    let shapes = [
        (Copying::Never, Cut::Anywhere),
        (Copying::Shares, Cut::Anywhere),
        (Copying::Shares, Cut::HeadOnly),
        (Copying::Duplicates, Cut::Anywhere),
        (Copying::Duplicates, Cut::HeadOnly),
    ];
    for (copying, cut) in shapes {
        for (lanes, trouble) in [(8, 0), (8, 1), (8, 2), (1, 0), (1, 2), (32, 0), (32, 1)] {
            let engine = Engine { lanes, seqs: lanes + 2, copying, cut, ..ENGINE };
            let mut world = world(Engine { seq_tokens: 2000, pool_tokens: 80_000, ..engine });
            for id in 0..32 {
                world.submit(job(id, &talk, 4)).expect("room");
            }
            for _ in 0..5 {
                world.tick();
            }
            match trouble {
                1 => assert!(world.cancel(JobId(0))),
                2 => world.complete(super::MILLISECOND, &|row| row == 0),
                _ => {}
            }
            world.run();
            let ran: usize = (0..32).map(|id| world.entry(JobId(id)).ran).sum();
            let runs = if copying == Copying::Never { lanes as usize + 1 } else { 1 + trouble / 2 };
            assert!(ran <= runs * 1024 + 32 * 8, "{copying:?}, {cut:?}, {lanes}, {trouble}: {ran} tokens");
            let whole = (0..32).filter(|&id| world.entry(JobId(id)).tokens.len() == 4).count();
            assert_eq!(whole, if trouble == 0 { 32 } else { 31 });
        }
    }
}

/// The very same prompt again, one token less of it, and a prompt of one token.
#[test]
fn case_k04_a_prompt_that_is_held_whole_still_runs_a_token() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        let mut world = world(Engine { lanes: 1, seqs: 2, cut, ..ENGINE });
        let talk = prompt(1, 40, 5);
        for (id, len) in [(0, 40), (1, 40), (2, 39), (3, 1), (4, 1)] {
            world.submit(job(id, &talk[..len], 5)).expect("room");
            world.run();
        }
        let (first, second) = (world.entry(JobId(0)).tokens.clone(), world.entry(JobId(1)).tokens.clone());
        assert_eq!(first, second);
        let expected = if cut == Cut::Anywhere { [0, 39, 38, 0, 0] } else { [0; 5] };
        assert_eq!([0, 1, 2, 3, 4].map(|id| cached(&mut world, id)), expected, "{cut:?}");
    }
}

/// Where only a whole state can be used: it is where it fits, it is not past a split, and what
/// `cached` says is so (the world compares it with what ran).
#[test]
fn case_k06_a_state_that_cannot_be_cut_is_used_whole_or_not_at_all() {
    let engine = Engine { cut: Cut::HeadOnly, lanes: 1, seqs: 4, ..ENGINE };
    let mut world = world(engine);
    let talk = prompt(1, 50, 6);
    let mut other = talk.clone();
    other[5] += 1;
    let mut next = talk.clone();
    next.extend(alone(&job(0, &talk, 6), &engine).tokens);
    next.extend([3, 4, 5]);
    other.extend(&next[50..]);
    for (id, prompt) in [(0, &talk), (1, &next), (2, &other), (3, &talk), (4, &next)] {
        world.submit(job(id, prompt, 6)).expect("room");
        world.run();
    }
    assert_eq!([0, 1, 2, 3, 4].map(|id| cached(&mut world, id)), [0, 55, 0, 0, 55]);
}

/// A client that goes away frees its lane within one step, in every phase.
#[test]
fn case_k08_a_cancelled_job_frees_its_lane_at_once() {
    // The step at which job 0 is cancelled: before it runs, in its prompt, in its decode.
    for steps in 0..12 {
        let mut world = world(Engine { lanes: 1, seqs: 1, step_tokens: 10, ..ENGINE });
        world.submit(job(0, &prompt(1, 60, 20), 20)).expect("room");
        world.submit(job(1, &prompt(2, 5, 3), 3)).expect("room");
        world.submit(job(2, &prompt(3, 5, 3), 3)).expect("room");
        (0..steps).for_each(|_| world.tick());
        assert!(world.cancel(JobId(0)));
        assert!(world.cancel(JobId(2)), "one that waits");
        assert_eq!(world.scheduler.running(Class::Agent), 0);
        let said = world.entry(JobId(0)).tokens.len();
        world.tick();
        assert_eq!(runs(world.step.as_ref(), 1), 5, "the lane is used in the very next step");
        world.run();
        assert_eq!(world.entry(JobId(0)).tokens.len(), said, "nothing is said after the cancel");
        let ending = world.entry(JobId(0)).ending.clone();
        assert!(matches!(ending, Some(Ending::Finished(Finish::Cancelled, _))), "{ending:?}");
        assert!(world.scheduler.is_idle());
        assert!(!world.cancel(JobId(0)), "it is gone");
    }
}

/// Only tokens whose step completed are kept.
#[test]
fn case_k09_an_interrupted_prompt_leaves_only_what_completed() {
    let talk = prompt(1, 45, 5);
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        for step in 0..5 {
            for trouble in 0..4 {
                let mut world = world(Engine { lanes: 2, seqs: 2, step_tokens: 10, cut, ..ENGINE });
                world.submit(job(0, &talk, 5)).expect("room");
                (0..step).for_each(|_| world.tick());
                match trouble {
                    0 => {}
                    1 => world.complete(super::MILLISECOND, &|_| true),
                    2 => world.give_up(0),
                    _ => world.fail(StepFault::Capacity),
                }
                let alive = world.cancel(JobId(0));
                if alive && step % 2 == 0 {
                    world.give_up(0);
                }
                world.submit(job(1, &talk, 5)).expect("room");
                world.run();
                assert!(cached(&mut world, 1) <= 10 * (step + 1), "more than ever completed");
                assert_eq!(world.entry(JobId(1)).tokens.len(), 5);
            }
        }
    }
}

/// A full pool: kept prefixes go first, then jobs wait, and only what can never fit is refused.
#[test]
fn case_k10_only_the_request_that_cannot_fit_is_refused() {
    let mut world = world(Engine { pool_tokens: 256, ..ENGINE });
    for id in 0..2 {
        world.submit(job(id, &prompt(id as u32, 98, 2), 2)).expect("room");
    }
    world.run();
    assert!(world.scheduler.cells_used() >= 190, "two prefixes are kept");
    for id in 10..14 {
        world.submit(job(id, &prompt(id as u32, 90, 10), 10)).expect("room");
    }
    let refusal = world.submit(job(20, &prompt(20, 300, 1), 10)).expect_err("300 of 256");
    assert_eq!(refusal.code, "context_length_exceeded");
    assert!(refusal.message.contains("300") && refusal.message.contains("256"), "{refusal}");
    let before = world.steps.len();
    world.run();
    for id in 10..14 {
        let ending = world.entry(JobId(id)).ending.clone();
        assert!(matches!(ending, Some(Ending::Finished(Finish::Length, _))), "{ending:?}");
    }
    assert!(world.steps.len() - before < 60, "{} steps", world.steps.len() - before);
}

/// Two jobs that do not fit together: one waits, both end, and little is run twice.
#[test]
fn case_k11_jobs_that_outgrow_the_pool_together_all_end() {
    let ran = |world: &mut World, id| world.entry(JobId(id)).ran;
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        for grown in [0, 18, 30] {
            let mut world = world(Engine { pool_tokens: 60, lanes: 2, seqs: 3, cut, ..ENGINE });
            for id in 0..2 {
                let talk = prompt(id as u32, 36 - grown, grown as usize + 2);
                world.submit(job(id, &talk, grown + 2)).expect("room");
            }
            world.run();
            for id in 0..2 {
                assert_eq!(world.entry(JobId(id)).tokens.len(), grown as usize + 2);
            }
            assert_eq!(ran(&mut world, 0), 37, "who stands first runs through");
            assert!(ran(&mut world, 1) <= 2 * 37, "{} tokens were run for 37", ran(&mut world, 1));
        }
    }
}
