//! Which kept prefix a job runs on, and which one goes.

use super::world::World;
use super::{ENGINE, cached, job, prompt, world};
use superfluid_core::sched::{Copying, Engine, SeqOp, Token};

fn serve(world: &mut World, id: u64, prompt: &[Token]) -> u32 {
    world.submit(job(id, prompt, 3)).expect("room");
    world.run();
    cached(world, id)
}

fn last_ops(world: &World) -> Vec<SeqOp> {
    world.steps.iter().rev().map(|step| step.ops.clone()).find(|ops| !ops.is_empty()).unwrap_or_default()
}

/// `head` with an end of its own.
fn branch(head: &[Token], own: u32, len: u32) -> Vec<Token> {
    head.iter().copied().chain((0..len).map(|at| own * 100 + at)).collect()
}

#[test]
fn the_longest_shared_prefix_is_reused() {
    let mut world = world(Engine { lanes: 1, seqs: 4, ..ENGINE });
    let head = prompt(1, 40, 0);
    serve(&mut world, 0, &branch(&head[..10], 1, 30));
    serve(&mut world, 1, &branch(&head[..40], 2, 5));
    serve(&mut world, 2, &branch(&prompt(2, 20, 0), 3, 30));
    assert_eq!(serve(&mut world, 3, &branch(&head, 4, 10)), 40);
}

#[test]
fn the_prefix_used_longest_ago_goes_first() {
    let mut world = world(Engine { lanes: 1, seqs: 3, ..ENGINE });
    let talks: Vec<Vec<Token>> = (0..4).map(|seed| prompt(seed, 30, 3)).collect();
    for id in 0..3 {
        serve(&mut world, id, &talks[id as usize]);
    }
    assert_eq!(serve(&mut world, 3, &talks[0]), 29, "all three are kept");
    serve(&mut world, 4, &talks[3]);
    assert_eq!(serve(&mut world, 5, &talks[0]), 29, "used since");
    assert_eq!(serve(&mut world, 6, &talks[2]), 29, "used since");
    assert_eq!(serve(&mut world, 7, &talks[1]), 0, "gone");
}

#[test]
fn cells_run_out_before_sequences_do() {
    let mut world = world(Engine { lanes: 1, seqs: 8, pool_tokens: 100, ..ENGINE });
    for id in 0..6 {
        serve(&mut world, id, &prompt(id as u32, 30, 3));
        assert!(world.scheduler.cells_used() <= 100);
    }
    assert_eq!(serve(&mut world, 6, &prompt(5, 30, 3)), 29);
    assert_eq!(serve(&mut world, 7, &prompt(0, 30, 3)), 0);
}

/// Where copies share cells, a shared head is copied and both conversations stay warm.
#[test]
fn a_shared_head_is_copied_where_that_is_free() {
    for (copying, kept) in [(Copying::Shares, 59), (Copying::Never, 20), (Copying::Duplicates, 20)] {
        let mut world = world(Engine { lanes: 1, seqs: 4, copying, ..ENGINE });
        let head = prompt(1, 20, 0);
        let (one, two) = (branch(&head, 1, 40), branch(&head, 2, 40));
        serve(&mut world, 0, &one);
        assert_eq!(serve(&mut world, 1, &two), 20);
        let copied = last_ops(&world).iter().any(|op| matches!(op, SeqOp::Copy { len: 20, .. }));
        assert_eq!(copied, copying == Copying::Shares);
        assert_eq!(serve(&mut world, 2, &one), kept, "{copying:?}");
    }
}

/// Every prompt of a model starts alike; that is no reason to cut a long conversation off.
#[test]
fn a_short_shared_head_does_not_cost_a_long_tail() {
    let mut world = world(Engine { lanes: 1, seqs: 4, ..ENGINE });
    let head = prompt(1, 2, 0);
    let long = branch(&head, 1, 90);
    serve(&mut world, 0, &long);
    assert_eq!(serve(&mut world, 1, &branch(&head, 2, 30)), 0);
    assert_eq!(serve(&mut world, 2, &long), 91);
}

/// Where a gap between sequences costs, a job goes beside those that run, unless that loses more.
#[test]
fn sequences_of_a_pass_stay_neighbours_where_a_gap_costs() {
    let mut world = world(Engine { neighbours: true, lanes: 4, seqs: 6, ..ENGINE });
    // Six end one after another, so that the oldest kept tokens are 0's, then 1's.
    for id in 0..6 {
        world.submit(job(id, &prompt(id as u32, 20, 1), 1)).expect("room");
        world.run();
    }
    // 3 is the youngest of all, then the others are used in the order 0, 1, 2, 4, 5.
    for (id, tag) in [(10, 0), (11, 1), (12, 2), (13, 4), (14, 5), (15, 3)] {
        world.submit(job(id, &prompt(tag, 21, 1), 1)).expect("room");
        world.run();
    }
    for id in 20..24 {
        world.submit(job(id, &prompt(100 + id as u32, 20, 30), 30)).expect("room");
    }
    world.tick();
    let rows = &world.step.as_ref().expect("a step").rows;
    let mut seqs: Vec<u32> = rows.iter().map(|rows| rows.seq.0).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, [0, 1, 2, 3], "the oldest is 0, and the others join it though 3 is the youngest");
    world.run();
}

/// A job that shares its first word with a kept prefix far away does not go there for it.
#[test]
fn a_word_in_common_does_not_open_a_gap() {
    for (neighbours, seqs) in [(true, [0, 1]), (false, [0, 5])] {
        let mut world = world(Engine { neighbours, lanes: 2, seqs: 6, ..ENGINE });
        for id in 0..6 {
            // Of one length each, so that only what they share and where they are differs.
            let from: Vec<Token> = std::iter::once(id as u32).chain((1..20).map(|at| 50 + at)).collect();
            world.submit(job(id, &from, 1)).expect("room");
            world.run();
        }
        world.submit(job(10, &prompt(100, 20, 30), 30)).expect("room");
        world.tick();
        let like_5 = branch(&[5], 7, 19);
        world.submit(job(11, &like_5, 30)).expect("room");
        world.tick();
        world.tick();
        let rows = &world.step.as_ref().expect("a step").rows;
        let mut used: Vec<u32> = rows.iter().map(|rows| rows.seq.0).collect();
        used.sort_unstable();
        assert_eq!(used, seqs);
        world.run();
    }
}

/// A copy that takes longer than running the head again is not made.
#[test]
fn a_head_shorter_than_a_copy_costs_is_run_again() {
    let engine = Engine { seq_tokens: 2000, pool_tokens: 4000, copying: Copying::Duplicates, ..ENGINE };
    for (shared, copies) in [(2, false), (127, false), (200, true)] {
        let mut world = world(engine);
        let first = prompt(0, 900, 3);
        serve(&mut world, 0, &first);
        serve(&mut world, 1, &branch(&first[..shared], 7, 300));
        let copied = last_ops(&world).iter().any(|op| matches!(op, SeqOp::Copy { .. }));
        assert_eq!(copied, copies, "{shared} shared tokens");
    }
}
