//! How tokens are drawn and how many: parameters both endpoints share.

use super::codes;
use super::fields::{Fields, kind, show, to_f32};
use crate::refusal::Refusal;
use crate::sched::Token;
use crate::wire::Sampling;
use alloc::collections::BTreeMap;
use alloc::format;
use serde_json::Value;

/// Below this a temperature is taken as 0: dividing by it leaves nothing but the likeliest token.
const COLDEST: f32 = 1e-4;
/// Larger than any vocabulary.
const MAX_TOP_K: i64 = 1_000_000;

/// All sampling parameters but the seed.
pub(super) fn take_sampling(fields: &mut Fields) -> Result<Sampling, Refusal> {
    let default = Sampling::default();
    let temperature = fields.take_number("temperature", 0.0..=2.0)?.unwrap_or(default.temperature);
    let top_p = fields.take_number("top_p", 0.0..=1.0)?;
    // Of nothing the likeliest token is left, which greedy says in a way that every runtime knows.
    let greedy = temperature < COLDEST || top_p == Some(0.0);
    // -1 is what some clients send for "off".
    let top_k = fields.take_integer("top_k", -1..=MAX_TOP_K)?.unwrap_or(0).max(0);
    let repeat = fields.take_number("repeat_penalty", 0.01..=2.0)?;
    let repetition = fields.take_number("repetition_penalty", 0.01..=2.0)?;
    if repeat.zip(repetition).is_some_and(|(a, b)| a != b) {
        let reason = "is another name of 'repeat_penalty' and has another value";
        return Err(fields.refuse(codes::INVALID_VALUE, "repetition_penalty", reason));
    }
    Ok(Sampling {
        temperature: if greedy { 0.0 } else { temperature },
        top_k: u32::try_from(top_k).unwrap_or(0),
        top_p: top_p.filter(|&top_p| top_p > 0.0).unwrap_or(default.top_p),
        min_p: fields.take_number("min_p", 0.0..=1.0)?.unwrap_or(default.min_p),
        presence_penalty: fields.take_number("presence_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        frequency_penalty: fields.take_number("frequency_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        repeat_penalty: repeat.or(repetition).unwrap_or(default.repeat_penalty),
        logit_bias: take_logit_bias(fields)?,
        seed: default.seed,
    })
}

/// `seed`: any integer of 64 bits, signed or not.
pub(super) fn take_seed(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    let Some(value) = fields.take("seed") else { return Ok(None) };
    match (value.as_u64(), value.as_i64()) {
        (Some(seed), _) => Ok(Some(seed)),
        (None, Some(seed)) => Ok(Some(seed.cast_unsigned())),
        (None, None) => Err(fields.mistyped("seed", "an integer of 64 bits", &value)),
    }
}

/// The cap on completion tokens, by any of its names; the smallest counts.
pub(super) fn take_max_tokens(fields: &mut Fields, names: &[&str]) -> Result<Option<u32>, Refusal> {
    let mut least = None;
    for name in names {
        if let Some(cap) = fields.take_integer(name, 1..=i64::from(u32::MAX))? {
            let cap = u32::try_from(cap).unwrap_or(u32::MAX);
            least = Some(least.map_or(cap, |least: u32| least.min(cap)));
        }
    }
    Ok(least)
}

fn take_logit_bias(fields: &mut Fields) -> Result<BTreeMap<Token, f32>, Refusal> {
    let map = match fields.take("logit_bias") {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(fields.mistyped("logit_bias", "an object", &other)),
    };
    let mut biases = BTreeMap::new();
    for (key, value) in map {
        // Digits only: `parse` alone would take "+5" too, and "05" for the token that "5" names.
        let plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
        let Some(token) = key.parse().ok().filter(|_| plain) else {
            let reason = format!("has the key {}, which is no token id", show(&Value::String(key)));
            return Err(fields.refuse(codes::INVALID_VALUE, "logit_bias", &reason));
        };
        let bias = value.as_f64().filter(|bias| (-100.0..=100.0).contains(bias)).and_then(to_f32);
        let Some(bias) = bias else {
            let value = if value.is_number() { show(&value) } else { kind(&value).into() };
            let reason = format!("must hold numbers from -100 to 100, and has {value} for token {token}");
            return Err(fields.refuse(codes::INVALID_VALUE, "logit_bias", &reason));
        };
        biases.insert(token, bias);
    }
    Ok(biases)
}
