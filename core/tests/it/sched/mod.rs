//! The scheduler, in a world whose engine shows every mix-up.

mod cases;
mod crowd;
mod faults;
mod follow;
mod lanes;
mod load;
mod many;
mod pause;
mod preempt;
mod prefixes;
mod queue;
mod random;
mod steps;
mod tiers;
mod verbs;
mod world;

use superfluid_core::Duration;
use superfluid_core::sched::{Class, Config, Copying, Cut, Engine, Finish, Job, JobId, Keeping, Step, Token};
use world::{Ending, World, alone};

/// Four lanes, six sequences of 1,000 tokens, room for all of them, steps of 64 tokens that mix.
const ENGINE: Engine = Engine {
    lanes: 4,
    seqs: 6,
    seq_tokens: 1000,
    pool_tokens: 6000,
    step_tokens: 64,
    cut: Cut::Anywhere,
    copying: Copying::Never,
    mixes: true,
    neighbours: false,
    micro_batch: u32::MAX,
    keeping: Keeping { rest_tokens: None, host_bytes: 0, state_bytes: 0, token_bytes: 0, copy_tokens: 128 },
};

fn world(engine: Engine) -> World {
    World::new(Config::new(engine))
}

/// An agent's job.
fn job(id: u64, prompt: &[Token], max_tokens: u32) -> Job {
    Job { id: JobId(id), class: Class::Agent, prompt: prompt.to_vec(), committed: 0, max_tokens }
}

fn of_class(class: Class, job: Job) -> Job {
    Job { class, ..job }
}

/// A prompt that shares nothing with that of another seed, and after which the engine says `least`
/// tokens without ending its text.
fn prompt(seed: u32, len: u32, least: usize) -> Vec<Token> {
    let endless = Engine { seq_tokens: u32::MAX, pool_tokens: u32::MAX, ..ENGINE };
    let attempts = (0..).map(|attempt| {
        let head = (0..len).map(|at| seed * 1000 + at * 7 % 101);
        let last = 500 + attempt;
        head.take(len as usize - 1).chain([last]).collect::<Vec<Token>>()
    });
    let talks = |prompt: &Vec<Token>| alone(&job(0, prompt, least as u32), &endless).finish == Finish::Length;
    attempts.into_iter().find(talks).expect("some prompt does")
}

/// Cached prompt tokens a job was told of at its end.
fn cached(world: &mut World, id: u64) -> u32 {
    match world.entry(JobId(id)).ending.clone() {
        Some(Ending::Finished(_, usage)) => usage.cached,
        other => panic!("job {id} ended with {other:?}"),
    }
}

/// The tokens a step runs for a job.
fn runs(step: Option<&Step>, id: u64) -> usize {
    let rows = step.into_iter().flat_map(|step| &step.rows);
    rows.filter(|rows| rows.job == JobId(id)).map(|rows| rows.tokens.len()).sum()
}

const MILLISECOND: Duration = Duration::from_millis(1);
