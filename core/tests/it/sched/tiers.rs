//! States that leave the device for host memory, and come back.

use super::world::{Ending, World, alone};
use super::{ENGINE, cached, job, prompt};
use superfluid_core::Duration;
use superfluid_core::sched::{Config, Copying, Cut, Engine, JobId, Keeping, SeqOp, Token};

/// Room for 1,000 tokens in host memory, a byte each.
const HOST: Keeping =
    Keeping { rest_tokens: None, host_bytes: 1000, state_bytes: 0, token_bytes: 1, copy_tokens: 128 };

fn world(engine: Engine, keeping: Keeping) -> World {
    World::new(Config::new(Engine { keeping, ..engine }))
}

fn serve(world: &mut World, id: u64, prompt: &[Token]) -> u32 {
    world.submit(job(id, prompt, 3)).expect("room");
    world.run();
    cached(world, id)
}

fn ops(world: &World) -> Vec<SeqOp> {
    world.steps.iter().flat_map(|step| step.ops.clone()).collect()
}

/// Ten conversations over two sequences: each goes on where it was.
#[test]
fn a_conversation_that_lost_its_sequence_goes_on_from_host_memory() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        let engine = Engine { lanes: 1, seqs: 2, cut, ..ENGINE };
        let mut world = world(engine, Keeping { host_bytes: 2000, ..HOST });
        let mut talks: Vec<Vec<Token>> = (0..10).map(|seed| prompt(seed, 60, 3)).collect();
        for id in 0..10 {
            assert_eq!(serve(&mut world, id, &talks[id as usize]), 0);
        }
        for id in 10..20_u64 {
            let talk = &mut talks[id as usize - 10];
            talk.extend(alone(&job(0, talk, 3), &engine).tokens);
            talk.extend([7, 8, 9]);
            assert_eq!(serve(&mut world, id, talk), 62, "{cut:?}, {id}");
        }
        assert!(world.scheduler.host_bytes() <= 2000);
        assert_eq!(world.scheduler.reused(), [0, 620]);
    }
}

/// Host memory is bounded, and what was used longest ago goes first.
#[test]
fn host_memory_keeps_what_was_used_last() {
    let mut world = world(Engine { lanes: 1, seqs: 1, ..ENGINE }, Keeping { host_bytes: 200, ..HOST });
    for id in 0..6 {
        serve(&mut world, id, &prompt(id as u32, 60, 3));
    }
    // 5 is on the device; three states of 62 tokens have room.
    assert_eq!(serve(&mut world, 10, &prompt(3, 60, 3)), 59);
    assert_eq!(serve(&mut world, 11, &prompt(1, 60, 3)), 0);
    assert!(ops(&world).iter().any(|op| matches!(op, SeqOp::Drop { .. })));
}

/// A state of a later turn holds what the earlier one held.
#[test]
fn a_longer_state_replaces_those_it_contains() {
    let engine = Engine { lanes: 1, seqs: 1, ..ENGINE };
    let mut world = world(engine, HOST);
    let mut talk = prompt(1, 60, 3);
    for turn in 0..5 {
        serve(&mut world, turn * 2, &talk);
        serve(&mut world, turn * 2 + 1, &prompt(99, 60, 3));
        talk.extend(alone(&job(0, &talk, 3), &engine).tokens);
        talk.extend(prompt(5 + turn as u32, 20, 0));
    }
    let longest = talk.len() as u64;
    assert!(world.scheduler.host_bytes() <= longest + 63, "{} bytes", world.scheduler.host_bytes());
}

/// Where idle cells cost every pass, kept sequences hold one lane's context at most, and the rest is in
/// host memory.
#[test]
fn a_shared_pool_holds_little_at_rest() {
    let mut world = world(
        Engine { lanes: 1, seqs: 6, copying: Copying::Shares, ..ENGINE },
        Keeping { rest_tokens: Some(100), ..HOST },
    );
    for id in 0..6 {
        serve(&mut world, id, &prompt(id as u32, 60, 3));
    }
    world.submit(job(10, &prompt(50, 60, 3), 3)).expect("room");
    world.tick();
    assert!(world.scheduler.cells_used() <= 100 + 64, "{} cells", world.scheduler.cells_used());
    world.run();
    for id in 0..6 {
        assert_eq!(serve(&mut world, 20 + id, &prompt(id as u32, 60, 3)), 59);
    }
}

/// What cannot be moved is run again, by whoever was to use it.
#[test]
fn a_state_that_is_lost_is_run_again() {
    for cut in [Cut::Anywhere, Cut::HeadOnly] {
        let engine = Engine { lanes: 1, seqs: 1, cut, ..ENGINE };
        for nth in 0..3 {
            let mut world = world(engine, HOST);
            let talk = prompt(1, 60, 3);
            let mut next = talk.clone();
            next.extend(alone(&job(0, &talk, 3), &engine).tokens);
            next.push(5);
            serve(&mut world, 0, &talk);
            world.engine.loses = u32::from(nth == 0);
            serve(&mut world, 1, &prompt(2, 60, 3));
            // The other's export, then this one's import.
            world.engine.loses = nth;
            let reused = serve(&mut world, 2, &next);
            assert_eq!(reused, if nth == 1 { 62 } else { 0 }, "{cut:?}, {nth}");
            assert!(matches!(world.entry(JobId(2)).ending, Some(Ending::Finished(..))));
        }
    }
}

/// An import that takes longer than running the tokens is not made again.
#[test]
fn an_import_must_pay() {
    let mut world = world(Engine { lanes: 2, seqs: 2, step_tokens: 64, ..ENGINE }, HOST);
    let slow = |world: &mut World| {
        while let Some(step) = &world.step {
            let tokens: usize = step.rows.iter().map(|rows| rows.tokens.len()).sum();
            let imports = step.ops.iter().filter(|op| matches!(op, SeqOp::Import { .. })).count();
            let micros = 10 + tokens + imports * 100_000;
            world.complete(Duration::from_micros(micros as u64), &|_| false);
        }
    };
    let mut reused = Vec::new();
    for id in 0..12_u64 {
        world.submit(job(id, &prompt(id as u32 % 4, 150, 3), 3)).expect("room");
        slow(&mut world);
        reused.push(cached(&mut world, id));
    }
    assert_eq!(reused[4], 149, "imported once, and measured");
    assert!(reused[6..].iter().all(|&tokens| tokens == 0), "{reused:?}");
}

/// Where states cannot be cut, one is kept where a long prompt ends: the same prompt again, and one that
/// goes on otherwise, run what is new to them.
#[test]
fn case_k06_a_state_is_kept_where_a_long_prompt_ends() {
    let ways = [(Copying::Never, HOST), (Copying::Shares, Keeping::default()), (Copying::Duplicates, HOST)];
    for (copying, keeping) in ways {
        let engine = Engine { cut: Cut::HeadOnly, copying, lanes: 2, seqs: 4, ..ENGINE };
        let mut world = world(engine, keeping);
        let talk = prompt(1, 200, 6);
        assert_eq!(serve(&mut world, 0, &talk), 0);
        assert_eq!(serve(&mut world, 1, &talk), 199, "{copying:?}");
        let mut other = talk.clone();
        other.extend([900, 901, 902]);
        assert_eq!(serve(&mut world, 2, &other), 199, "the reply is left out");
        let short = prompt(2, 100, 6);
        serve(&mut world, 3, &short);
        assert_eq!(serve(&mut world, 4, &short), 0, "a short prompt is run again");
    }
}

/// A pool that is full moves what is kept before anybody fails, and gets it back.
#[test]
fn case_k10_the_cache_moves_to_host_memory_before_anybody_fails() {
    let mut world = world(Engine { pool_tokens: 256, ..ENGINE }, HOST);
    for id in 0..2 {
        serve(&mut world, id, &prompt(id as u32, 98, 2));
    }
    for id in 10..12 {
        world.submit(job(id, &prompt(id as u32, 120, 3), 3)).expect("room");
    }
    world.run();
    assert_eq!(serve(&mut world, 20, &prompt(0, 98, 2)), 97, "nothing of it was run again");
}
