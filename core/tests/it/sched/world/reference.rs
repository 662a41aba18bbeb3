//! What a job says when it is alone in the world: slow and obvious.

use super::engine::State;
use superfluid_core::sched::{Engine, Finish, Job, Token, Usage};

/// A job's whole course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) tokens: Vec<Token>,
    pub(crate) finish: Finish,
}

/// Runs a job alone, hashing everything anew for each token.
pub(crate) fn alone(job: &Job, engine: &Engine) -> Course {
    let window = engine.seq_tokens.min(engine.pool_tokens) as usize;
    let mut all = job.prompt.clone();
    let mut tokens = Vec::new();
    loop {
        if job.committed as usize + tokens.len() >= job.max_tokens as usize || all.len() >= window {
            return Course { tokens, finish: Finish::Length };
        }
        let (token, end) = State::of(&all).next();
        all.push(token);
        tokens.push(token);
        if end.is_some() {
            return Course { tokens, finish: Finish::Stop };
        }
    }
}

/// What a job that said `tokens` is charged for, cached tokens aside.
pub(crate) fn bill(job: &Job, tokens: usize) -> Usage {
    let prompt = job.prompt.len() as u32 - job.committed;
    Usage { prompt, cached: 0, completion: job.committed + tokens as u32 }
}
