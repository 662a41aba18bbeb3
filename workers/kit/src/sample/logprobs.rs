//! Log probabilities out of raw logits.

use superfluid_core::sched::Token;

/// The log probability shown for a token that cannot come; JSON has no infinity.
pub(crate) const IMPOSSIBLE: f32 = -9999.0;

/// A token's log probability and the likeliest tokens at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Natural logarithm of the token's probability.
    pub logprob: f32,
    /// The likeliest tokens with theirs, likeliest first, of equals the lower id.
    pub top: Vec<(Token, f32)>,
}

/// Log probabilities of `token` and of the `top` likeliest, before sampling moves anything.
pub fn rank(logits: &[f32], token: Token, top: usize) -> Ranked {
    let mut likeliest: Vec<(Token, f32)> = Vec::with_capacity(top + 1);
    let mut highest = f32::NEG_INFINITY;
    for (id, &logit) in (0..).zip(logits) {
        highest = highest.max(logit);
        if likeliest.len() < top || likeliest.last().is_some_and(|&(_, lowest)| logit > lowest) {
            let at = likeliest.partition_point(|&(_, other)| other >= logit);
            likeliest.insert(at, (id, logit));
            likeliest.truncate(top);
        }
    }
    let sum: f64 = logits.iter().map(|logit| f64::from((logit - highest).exp())).sum();
    let norm = f64::from(highest) + sum.ln();
    let logprob = |logit: f32| {
        let logprob = (f64::from(logit) - norm) as f32;
        if logprob.is_finite() { logprob.clamp(IMPOSSIBLE, 0.0) } else { IMPOSSIBLE }
    };
    Ranked {
        logprob: logprob(logits.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY)),
        top: likeliest.into_iter().map(|(id, logit)| (id, logprob(logit))).collect(),
    }
}
