//! Temperature, top-k, top-p, min-p and the draw among what is left.

use super::likelier;
use superfluid_core::sched::Token;
use superfluid_core::wire::Sampling;

/// Tokens sorted at first when only the likeliest are needed; four times as many each time that
/// was not enough.
const FIRST_SORTED: usize = 256;

/// Chooses by `u`, a number in `[0, 1)`. `best` is the likeliest token of `logits`, which are
/// numbers and finite at their highest.
pub(super) fn choose(
    sampling: &Sampling,
    logits: &[f32],
    best: Token,
    u: f64,
    weights: &mut Vec<f32>,
    kept: &mut Vec<u32>,
) -> Token {
    // A temperature so low that dividing by it overflows is greedy.
    let sharpness = 1.0 / sampling.temperature;
    if !sharpness.is_finite() {
        return best;
    }
    let highest = logits[best as usize];
    weights.clear();
    weights.extend(logits.iter().map(|logit| ((logit - highest) * sharpness).exp()));

    let size = logits.len();
    let top_k = match sampling.top_k as usize {
        0 => size,
        k => k.min(size),
    };
    let top_p = f64::from(sampling.top_p);
    let floor = sampling.min_p.min(1.0);
    if top_k == size && top_p >= 1.0 {
        // Nothing needs an order: the ids' own will do.
        let likely = |weight: f32| if weight >= floor { f64::from(weight) } else { 0.0 };
        let total: f64 = weights.iter().map(|&w| likely(w)).sum();
        return pick(weights.iter().map(|&w| likely(w)).enumerate(), total * u, best);
    }

    kept.clear();
    kept.extend(0..u32::try_from(size).unwrap_or(u32::MAX));
    let order = likelier(logits);
    let mut total: f64 = 0.0;
    if top_k < size {
        kept.select_nth_unstable_by(top_k - 1, &order);
        kept.truncate(top_k);
        kept.sort_unstable_by(&order);
        total += kept.iter().map(|&t| f64::from(weights[t as usize])).sum::<f64>();
    } else {
        total += weights.iter().map(|&w| f64::from(w)).sum::<f64>();
    }
    if top_p < 1.0 {
        let wanted = total * top_p.max(0.0);
        let mut sorted = if top_k < size { size } else { FIRST_SORTED };
        loop {
            if sorted < kept.len() {
                kept.select_nth_unstable_by(sorted - 1, &order);
                kept[..sorted].sort_unstable_by(&order);
            } else if top_k == size {
                kept.sort_unstable_by(&order);
            }
            let seen = sorted.min(kept.len());
            if let Some(length) = nucleus(&kept[..seen], weights, wanted) {
                kept.truncate(length);
                break;
            }
            if seen == kept.len() {
                break;
            }
            sorted *= 4;
        }
    }
    // Sorted by now: what is below the floor is a tail.
    kept.truncate(kept.partition_point(|&t| weights[t as usize] >= floor).max(1));
    let total: f64 = kept.iter().map(|&t| f64::from(weights[t as usize])).sum();
    let left = kept.iter().map(|&t| (t as usize, f64::from(weights[t as usize])));
    pick(left, total * u, best)
}

/// How many of `sorted` make up `wanted`, where they do; at least one.
fn nucleus(sorted: &[u32], weights: &[f32], wanted: f64) -> Option<usize> {
    let mut sum = 0.0;
    let at = sorted.iter().position(|&t| {
        sum += f64::from(weights[t as usize]);
        sum >= wanted
    });
    at.map(|at| at + 1)
}

/// The token in whose share of the total `at` lies.
fn pick(tokens: impl Iterator<Item = (usize, f64)>, at: f64, best: Token) -> Token {
    let (mut sum, mut last) = (0.0, best);
    for (token, weight) in tokens {
        if weight > 0.0 {
            sum += weight;
            last = Token::try_from(token).unwrap_or(best);
            if sum > at {
                break;
            }
        }
    }
    last
}
