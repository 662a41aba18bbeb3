//! What is in a step, and when it should be given up.

use super::world::World;
use super::{ENGINE, MILLISECOND, job, of_class, prompt, runs, world};
use superfluid_core::Duration;
use superfluid_core::sched::{Class, Config, Engine, JobId, Step};

/// Jobs in the order of a step's rows.
fn jobs(step: &Step) -> Vec<u64> {
    step.rows.iter().map(|rows| rows.job.0).collect()
}

fn step(world: &World) -> &Step {
    world.step.as_ref().expect("a step in flight")
}

#[test]
fn decode_rows_come_first_then_chunks_of_who_needs_least() {
    let mut world = world(ENGINE);
    world.submit(job(0, &prompt(0, 10, 30), 30)).expect("room");
    world.tick();
    for (id, len) in [(1, 50), (2, 20), (3, 30)] {
        world.submit(job(id, &prompt(id as u32, len, 3), 3)).expect("room");
    }
    world.tick();
    assert_eq!(jobs(step(&world)), [0, 2, 3, 1]);
    assert_eq!([0, 1, 2, 3].map(|id| runs(world.step.as_ref(), id)), [1, 13, 20, 30]);
    world.run();
}

#[test]
fn with_nobody_decoding_a_chunk_fills_the_step() {
    let mut world = world(Engine { step_tokens: 512, ..ENGINE });
    world.submit(job(0, &prompt(0, 900, 3), 3)).expect("room");
    assert_eq!(runs(world.step.as_ref(), 0), 512);
    world.run();
}

/// An interactive prompt is in the very next step, whole if it fits, however much others wait for.
#[test]
fn an_interactive_prompt_is_in_the_very_next_step() {
    let mut world = world(ENGINE);
    for id in 0..3 {
        world.submit(job(id, &prompt(id as u32, 900, 3), 3)).expect("room");
    }
    world.tick();
    world.submit(of_class(Class::Interactive, job(9, &prompt(9, 40, 3), 3))).expect("room");
    world.tick();
    assert_eq!(runs(world.step.as_ref(), 9), 40);
    assert_eq!(step(&world).rows[0].job, JobId(9));
    world.run();
}

/// Somebody urgent does not wait for a step that others fill.
#[test]
fn a_prompt_has_short_chunks_beside_a_more_urgent_one() {
    for (class, most) in [(Class::Interactive, 32), (Class::Background, 512)] {
        let mut world = world(Engine { step_tokens: 512, ..ENGINE });
        world.submit(of_class(Class::Background, job(0, &prompt(0, 900, 3), 3))).expect("room");
        world.submit(of_class(class, job(1, &prompt(1, 40, 3), 3))).expect("room");
        world.give_up(0);
        assert_eq!(runs(world.step.as_ref(), 1), 40);
        assert_eq!(runs(world.step.as_ref(), 0), most.min(512 - 40));
        world.run();
    }
}

/// The gap between a decoding lane's tokens stays near what is asked, whatever a token costs.
#[test]
fn chunks_beside_decode_rows_follow_the_measured_time() {
    for token in [Duration::from_micros(40), Duration::from_micros(700), Duration::from_millis(2)] {
        let engine = Engine { step_tokens: 2048, seq_tokens: 20_000, pool_tokens: 60_000, ..ENGINE };
        let mut world = World::new(Config::new(engine));
        let pass = Duration::from_millis(8);
        let took = |step: &Step| {
            let tokens: usize = step.rows.iter().map(|rows| rows.tokens.len()).sum();
            pass + token * tokens as u32
        };
        world.submit(job(0, &prompt(0, 10, 150), 150)).expect("room");
        for _ in 0..10 {
            world.complete(took(step(&world)), &|_| false);
        }
        world.submit(job(1, &prompt(1, 15_000, 3), 3)).expect("room");
        world.complete(took(step(&world)), &|_| false);
        let mut chunks = 0;
        while runs(world.step.as_ref(), 1) > 1 && runs(world.step.as_ref(), 0) == 1 {
            chunks += 1;
            let gap = took(step(&world));
            let near = Duration::from_millis(40)..Duration::from_millis(60);
            let settled = chunks > 8 && world.entry(JobId(1)).ran < 14_000;
            // Every fourth chunk may be a probe of 32 tokens.
            let fine = near.contains(&gap) || runs(world.step.as_ref(), 1) == 32;
            assert!(!settled || fine, "{token:?} a token: {gap:?} after {chunks} chunks");
            world.complete(gap, &|_| false);
        }
        assert!(chunks > 8, "{chunks}");
        world.run();
    }
}

/// Where decoding alone takes longer than the gap, prompts still get as much time as it does.
#[test]
fn slow_decoding_does_not_starve_prompts() {
    let mut world = World::new(Config::new(Engine { step_tokens: 512, ..ENGINE }));
    world.submit(job(0, &prompt(0, 10, 60), 60)).expect("room");
    world.submit(job(1, &prompt(1, 500, 3), 3)).expect("room");
    for _ in 0..30 {
        let tokens = step(&world).rows.iter().map(|rows| rows.tokens.len() as u32).sum::<u32>();
        world.complete(MILLISECOND * (200 + 5 * tokens), &|_| false);
    }
    assert!(world.entry(JobId(1)).ran >= 500);
    world.run();
}

/// Where passes do not mix, decode rows and chunks take turns.
#[test]
fn an_engine_that_does_not_mix_alternates() {
    let mut world = world(Engine { mixes: false, ..ENGINE });
    world.submit(job(0, &prompt(0, 10, 40), 40)).expect("room");
    world.tick();
    world.submit(job(1, &prompt(1, 600, 3), 3)).expect("room");
    world.tick();
    let mut turns = Vec::new();
    while runs(world.step.as_ref(), 1) > 1 || turns.len() < 6 {
        let step = step(&world);
        assert_eq!(step.rows.len(), 1, "{step:?}");
        turns.push(step.rows[0].job.0);
        world.tick();
    }
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    world.run();
}

/// Where passes do not mix, prompts run together as far as they are equally long.
#[test]
fn prompts_of_a_pass_that_does_not_mix_are_equally_long() {
    // The first job is planned alone, as it came; the others are there for the pass after.
    for lengths in [[10, 10, 10], [10, 10, 12], [10, 12, 10]] {
        let mut world = world(Engine { mixes: false, lanes: 3, ..ENGINE });
        for (id, length) in (0..).zip(lengths) {
            world.submit(job(id, &prompt(id as u32, length, 3), 3)).expect("room");
        }
        let mut most = 0;
        while let Some(step) = &world.step {
            let chunks: Vec<usize> =
                step.rows.iter().map(|rows| rows.tokens.len()).filter(|&length| length > 1).collect();
            assert!(chunks.windows(2).all(|pair| pair[0] == pair[1]), "{lengths:?}: {chunks:?}");
            most = most.max(chunks.len());
            world.tick();
        }
        assert_eq!(most, 2, "{lengths:?}: prompts that can run together");
        world.check_all_ended();
    }
}

/// Short prompts that keep coming do not starve a long one that has a lane.
#[test]
fn a_long_prompt_is_passed_over_a_few_times_only() {
    let mut world = World::new(Config::new(Engine { lanes: 2, seqs: 2, step_tokens: 16, ..ENGINE }));
    world.submit(job(0, &prompt(0, 200, 1), 1)).expect("room");
    let mut waited = 0;
    for id in 1..400 {
        // Each takes one whole step, and one waits always.
        world.submit(job(id, &prompt(id as u32, 16, 1), 1)).expect("room");
        if world.entry(JobId(0)).ending.is_some() {
            break;
        }
        waited = if runs(world.step.as_ref(), 0) > 0 { 0 } else { waited + 1 };
        assert!(waited <= 8, "passed over {waited} times");
        world.tick();
    }
    assert!(world.entry(JobId(0)).ending.is_some(), "{} of 200 tokens ran", world.entry(JobId(0)).ran);
    world.run();
}

/// A prompt that was passed over too often leaves half of the step to whoever is more urgent.
#[test]
fn a_starved_prompt_takes_half_a_step_from_the_others() {
    let mut world = world(Engine { lanes: 2, seqs: 2, step_tokens: 16, ..ENGINE });
    world.submit(of_class(Class::Background, job(0, &prompt(0, 200, 1), 1))).expect("room");
    world.submit(of_class(Class::Interactive, job(1, &prompt(1, 300, 1), 1))).expect("room");
    let mut shares = Vec::new();
    for _ in 0..20 {
        shares.push(runs(world.step.as_ref(), 0));
        world.tick();
        assert_eq!(runs(world.step.as_ref(), 0) + runs(world.step.as_ref(), 1), 16);
    }
    // Job 0 was alone when the first step was planned.
    let turns: Vec<usize> =
        shares.iter().enumerate().filter(|(_, share)| **share > 0).map(|(at, _)| at).collect();
    assert_eq!((turns, shares[9], shares[18]), (vec![0, 9, 18], 8, 8));
    world.run();
}

/// A long pass of lower classes is worth giving up for somebody urgent who can start, but not again
/// before enough was run that stayed.
#[test]
fn a_long_pass_yields_to_an_urgent_job_once() {
    let mut world = world(Engine { step_tokens: 512, ..ENGINE });
    world.submit(of_class(Class::Background, job(0, &prompt(0, 900, 3), 3))).expect("room");
    assert!(!world.scheduler.wants_yield());
    world.submit(of_class(Class::Background, job(1, &prompt(1, 5, 3), 3))).expect("room");
    assert!(!world.scheduler.wants_yield(), "no more urgent than what runs");
    world.submit(of_class(Class::Interactive, job(2, &prompt(2, 5, 3), 3))).expect("room");
    assert!(world.scheduler.wants_yield());
    world.give_up(0);
    assert_eq!(step(&world).rows[0].job, JobId(2));
    world.submit(of_class(Class::Interactive, job(3, &prompt(3, 5, 3), 3))).expect("room");
    assert!(!world.scheduler.wants_yield(), "work must get on");
    world.run();
    assert!(!world.scheduler.wants_yield());
}

/// With every lane taken an urgent job gains from it only if somebody gives way.
#[test]
fn a_pass_does_not_yield_to_a_job_that_cannot_start() {
    for (class, yields) in [(Class::Agent, true), (Class::Background, false)] {
        let mut world = world(Engine { lanes: 1, seqs: 1, step_tokens: 512, ..ENGINE });
        world.submit(of_class(Class::Background, job(0, &prompt(0, 900, 3), 3))).expect("room");
        world.submit(of_class(class, job(1, &prompt(1, 5, 3), 3))).expect("room");
        assert_eq!(world.scheduler.wants_yield(), yields);
        world.run();
    }
}

/// A pass that is mostly for cancelled jobs is given up; one that is not goes on.
#[test]
fn a_pass_yields_when_half_of_it_is_for_nobody() {
    let mut world = world(ENGINE);
    world.submit(job(0, &prompt(0, 10, 9), 9)).expect("room");
    world.submit(job(1, &prompt(1, 40, 9), 9)).expect("room");
    world.tick();
    assert_eq!(jobs(step(&world)), [0, 1]);
    world.submit(job(2, &prompt(2, 8, 9), 9)).expect("room");
    world.tick();
    assert!(world.cancel(JobId(0)));
    assert!(!world.scheduler.wants_yield(), "one of ten tokens");
    assert!(world.cancel(JobId(2)));
    assert!(world.scheduler.wants_yield(), "nine of ten");
    world.give_up(0);
    assert_eq!(jobs(step(&world)), [1]);
    assert!(!world.scheduler.wants_yield());
    assert!(world.cancel(JobId(1)));
    assert!(world.scheduler.wants_yield(), "nobody is left in it");
    world.run();
}
