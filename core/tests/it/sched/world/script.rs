//! Any bytes as a course of the world: the first set it up, the others are inputs.

use super::World;
use superfluid_core::sched::{
    Class, Config, Copying, Cut, Engine, Job, JobId, Keeping, RowResult, StepFault, StepId, StepOutcome,
    Token,
};
use superfluid_core::{Duration, Misuse, Refusal};

/// Reads bytes; zeros after the last.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::from(self.next()) % bound
    }
}

/// Plays the bytes to the end, then lets everything that is left run out. Returns the log. Panics
/// where the scheduler does what it must not.
pub(crate) fn play(bytes: &[u8]) -> String {
    let mut bytes = Bytes(bytes);
    let mut world = set_up(&mut bytes);
    while !bytes.0.is_empty() {
        input(&mut world, &mut bytes);
    }
    world.run();
    world.log
}

fn set_up(bytes: &mut Bytes<'_>) -> World {
    let lanes = 1 + bytes.below(5);
    let seqs = lanes + bytes.below(4);
    let [seq_tokens, pool_tokens, step_tokens] = [60, 120, 24].map(|most| bytes.below(most));
    let cut = if bytes.below(2) == 0 { Cut::Anywhere } else { Cut::HeadOnly };
    let copying = [Copying::Never, Copying::Shares, Copying::Duplicates][bytes.below(3) as usize];
    let passes = bytes.below(4);
    let engine = Engine {
        lanes,
        seqs,
        seq_tokens: 2 + seq_tokens,
        pool_tokens: 2 + pool_tokens,
        step_tokens: lanes + step_tokens,
        cut,
        copying,
        mixes: passes.is_multiple_of(2),
        neighbours: passes >= 2,
        micro_batch: 1 + bytes.below(16),
        keeping: keeping(bytes),
    };
    let mut world = World::new(Config {
        engine,
        queue_per_class: 1 + bytes.below(12) as usize,
        age_after: Duration::from_micros(u64::from(bytes.next()) * 4),
        gap: Duration::from_micros(u64::from(bytes.next())),
        pass: Duration::from_micros(u64::from(bytes.next())),
        class_lanes: [bytes.below(6), bytes.below(6), bytes.below(6)],
        share_from: 1 + bytes.below(12),
        save_from: 1 + bytes.below(6),
        keep_from: 2 + bytes.below(12),
    });
    // One world in four has an engine that promised more room than it has.
    if bytes.below(4) == 3 {
        world.engine.cells -= bytes.below(engine.pool_tokens / 2 + 1);
    }
    world
}

/// One world in two has no host memory, one in four counts cells at rest.
fn keeping(bytes: &mut Bytes<'_>) -> Keeping {
    let (host_bytes, rest_tokens) = (u64::from(bytes.below(120)) * 4, bytes.below(80));
    Keeping {
        rest_tokens: (rest_tokens < 20).then_some(rest_tokens * 2),
        host_bytes: host_bytes.saturating_sub(240),
        state_bytes: u64::from(bytes.below(8)),
        token_bytes: u64::from(bytes.below(3)),
        copy_tokens: bytes.below(6),
    }
}

fn input(world: &mut World, bytes: &mut Bytes<'_>) {
    match bytes.below(22) {
        0..=5 => {
            let job = job(world, bytes);
            let told = world.submit(job.clone());
            let refused = told.err().map(|refusal| refusal.code);
            assert_eq!(refused.as_deref(), expected(world, &job, refused.as_deref()), "{job:?}");
        }
        6 => {
            let ids: Vec<JobId> = world.book.keys().copied().collect();
            let id = JobId(u64::from(bytes.next()) % (ids.len() as u64 + 1));
            world.cancel(id);
        }
        20 | 21 => {
            let ids: Vec<JobId> = world.book.keys().copied().collect();
            let id = JobId(u64::from(bytes.next()) % (ids.len() as u64 + 1));
            world.pause(id, bytes.below(2) == 0);
        }
        7 => {
            let fed = bytes.below(32) as usize;
            world.give_up(fed);
        }
        8 => match bytes.below(16) {
            0 => world.fail(StepFault::Fatal { refusal: Refusal::new("fatal", "the engine died") }),
            1..=4 => world.fail(StepFault::Capacity),
            _ => world.tick(),
        },
        9 => {
            let broken = bytes.next();
            world.complete(Duration::from_micros(9), &|at| broken >> (at % 8) & 1 == 1);
        }
        10 if bytes.below(4) == 0 => world.engine.loses += 1,
        10 => misuse(world, bytes),
        11 => world.now = world.now + Duration::from_micros(u64::from(bytes.next()) * 8),
        12..=14 => world.complete(Duration::from_micros(u64::from(bytes.next())), &|_| false),
        _ => world.tick(),
    }
}

/// A job of one of three families that share prefixes; one in many is invalid.
fn job(world: &World, bytes: &mut Bytes<'_>) -> Job {
    let family = bytes.below(3);
    let shared = bytes.below(24);
    let own = bytes.below(8);
    let seed = bytes.next();
    let head = (0..shared).map(|at| (family * 7 + at * at) % 31);
    let prompt: Vec<Token> = head.chain((0..own).map(|at| (u32::from(seed) + at) % 31)).collect();
    let committed = if seed < 32 { bytes.below(6) } else { 0 };
    let id = if seed > 250 { u64::from(seed) % 4 } else { world.book.len() as u64 };
    Job {
        id: JobId(id),
        class: Class::ALL[bytes.below(3) as usize],
        prompt,
        committed,
        max_tokens: bytes.below(20),
    }
}

/// The refusal a job must get, as far as the job alone tells.
fn expected<'a>(world: &World, job: &Job, told: Option<&'a str>) -> Option<&'a str> {
    let window = world.scheduler.window() as usize;
    match told {
        Some("duplicate_id" | "overloaded" | "fatal") => told,
        _ if job.committed as usize >= job.prompt.len() => Some("invalid_prompt"),
        _ if job.max_tokens == 0 => Some("invalid_max_tokens"),
        _ if job.committed == 0 && job.prompt.len() >= window => Some("context_length_exceeded"),
        _ => None,
    }
}

/// Outcomes nobody asked for are refused and change nothing.
fn misuse(world: &mut World, bytes: &mut Bytes<'_>) {
    let flying = world.step.as_ref().map(|step| step.id);
    let foreign = StepId(flying.map_or(0, |id| id.0) + 1 + u64::from(bytes.next()));
    let wrong = world.step.iter().flat_map(|step| &step.rows).map(|_| RowResult::Fed).chain([RowResult::Fed]);
    let outcome = |id, results| StepOutcome { id, elapsed: Duration::ZERO, result: Ok(results) };
    let before = format!("{:?}", world.scheduler);
    let told = world.scheduler.handle_outcome(outcome(foreign, Vec::new()), world.now);
    assert_eq!(told, Err(Misuse::UnknownEffect(foreign.0)));
    if let Some(id) = flying {
        let told = world.scheduler.handle_outcome(outcome(id, wrong.collect()), world.now);
        assert_eq!(told, Err(Misuse::WrongOutcome(id.0)));
    }
    assert_eq!(format!("{:?}", world.scheduler), before, "a misuse changed something");
}
