//! The next token out of a row of logits, on the host.
//!
//! In this order: logit bias; repeat penalty; presence and frequency penalty; then, at temperature
//! 0, the likeliest token; otherwise temperature, top-k, top-p, min-p, and one draw. top-p is a
//! share of what top-k left, min-p a share of the likeliest token's probability. Of equal logits
//! the lower id counts as the likelier. A draw depends on the job's seed and the token's position
//! alone ([`uniform`]).

mod draw;
mod filter;
mod logprobs;

pub use draw::{philox, uniform};
pub(crate) use logprobs::IMPOSSIBLE;
pub use logprobs::{Ranked, rank};

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use superfluid_core::Refusal;
use superfluid_core::sched::Token;
use superfluid_core::wire::Sampling;

/// Buffers that draws reuse; one a thread.
#[derive(Debug, Default)]
pub struct Scratch {
    logits: Vec<f32>,
    weights: Vec<f32>,
    kept: Vec<u32>,
}

/// How one job's tokens are drawn.
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    /// How often each token was generated.
    generated: BTreeMap<Token, u32>,
    /// Tokens of the prompt, where the repeat penalty counts them.
    prompt: BTreeSet<Token>,
}

impl Sampler {
    /// A sampler for a job with this prompt; tokens generated before go to [`accept`](Self::accept).
    pub fn new(sampling: Sampling, prompt: &[Token]) -> Self {
        let counts = sampling.repeat_penalty != 1.0;
        let prompt = if counts { prompt.iter().copied().collect() } else { BTreeSet::new() };
        Self { sampling, generated: BTreeMap::new(), prompt }
    }

    /// Whether the runtime's own argmax gives the job's token.
    pub fn is_plain_greedy(&self) -> bool {
        self.sampling.is_plain_greedy()
    }

    /// A token was generated.
    pub fn accept(&mut self, token: Token) {
        if self.moves_logits() {
            *self.generated.entry(token).or_default() += 1;
        }
    }

    /// The token at `position` of the whole sequence.
    ///
    /// # Errors
    ///
    /// `engine_fault` where the logits are not numbers, or leave nothing to choose.
    pub fn draw(&self, logits: &[f32], position: u32, scratch: &mut Scratch) -> Result<Token, Refusal> {
        let Scratch { logits: moved, weights, kept } = scratch;
        let logits = if self.moves_logits() {
            moved.clear();
            moved.extend_from_slice(logits);
            self.move_logits(moved);
            moved.as_slice()
        } else {
            logits
        };
        let best = argmax(logits)?;
        if self.sampling.temperature <= 0.0 {
            return Ok(best);
        }
        let u = uniform(self.sampling.seed, u64::from(position));
        Ok(filter::choose(&self.sampling, logits, best, u, weights, kept))
    }

    fn moves_logits(&self) -> bool {
        let s = &self.sampling;
        s.presence_penalty != 0.0
            || s.frequency_penalty != 0.0
            || s.repeat_penalty != 1.0
            || !s.logit_bias.is_empty()
    }

    fn move_logits(&self, logits: &mut [f32]) {
        let s = &self.sampling;
        for (&token, bias) in &s.logit_bias {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit += bias;
            }
        }
        if s.repeat_penalty != 1.0 {
            let fresh = self.generated.keys().filter(|token| !self.prompt.contains(token));
            for &token in self.prompt.iter().chain(fresh) {
                if let Some(logit) = logits.get_mut(token as usize) {
                    *logit = if *logit > 0.0 { *logit / s.repeat_penalty } else { *logit * s.repeat_penalty };
                }
            }
        }
        for (&token, &times) in &self.generated {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit -= s.presence_penalty + s.frequency_penalty * times as f32;
            }
        }
    }
}

/// The likeliest token, of equals the lowest.
///
/// # Errors
///
/// `engine_fault` where a logit is not a number, the highest is infinite, or there is none.
pub fn argmax(logits: &[f32]) -> Result<Token, Refusal> {
    let (mut best, mut highest, mut numbers) = (0, f32::NEG_INFINITY, true);
    for (token, &logit) in logits.iter().enumerate() {
        numbers &= !logit.is_nan();
        if logit > highest {
            (best, highest) = (token, logit);
        }
    }
    if !numbers {
        return Err(fault("the model's output holds values that are not numbers"));
    }
    if !highest.is_finite() {
        return Err(fault(if highest > 0.0 {
            "the model's output is infinite"
        } else {
            "the model's output leaves no token to choose"
        }));
    }
    Ok(Token::try_from(best).unwrap_or(Token::MAX))
}

fn fault(message: &str) -> Refusal {
    Refusal::new("engine_fault", message).hint("the request can be tried again")
}

/// Likelier first; of equals the lower id.
fn likelier(logits: &[f32]) -> impl Fn(&u32, &u32) -> Ordering {
    |&a, &b| logits[b as usize].total_cmp(&logits[a as usize]).then(a.cmp(&b))
}
