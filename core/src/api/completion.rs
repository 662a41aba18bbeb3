//! `/v1/completions`.

use super::fields::{Fields, show};
use super::request::{self, Endpoint, Media, Request};
use super::{Bounds, codes, json, sampling};
use crate::refusal::Refusal;
use crate::sched::Token;
use crate::wire::Input;
use alloc::format;
use alloc::vec::Vec;
use serde_json::Value;

/// What the OpenAI API generates where `max_tokens` is not given.
const DEFAULT_MAX_TOKENS: u32 = 16;

/// Parses a completion request. `served` are the ids of the models that are served.
///
/// The prompt is a string or an array of token ids, or an array of these, up to `bounds.prompts`;
/// each makes a choice of its own. Without
/// `max_tokens` 16 tokens are generated, as the OpenAI API has it. Its 0, which is for scoring a prompt
/// with `echo`, is refused as `echo` is: nothing would be generated.
///
/// # Errors
/// As [`parse_chat`](super::parse_chat).
pub fn parse_completion(body: &[u8], bounds: &Bounds, served: &[&str]) -> Result<Request, Refusal> {
    let mut fields = Fields::top(json::parse_object(body, bounds)?);
    let model = request::take_model(&mut fields, served)?;
    request::only_one(&mut fields, "n")?;
    request::only_one(&mut fields, "best_of")?;
    let (stream, include_usage) = request::take_stream(&mut fields)?;
    let (input, more) = take_prompts(&mut fields, bounds.prompts)?;
    let sampling = sampling::take_sampling(&mut fields)?;
    // Each prompt's job gets them all.
    let biases = sampling.logit_bias.len().saturating_mul(1 + more.len());
    if !more.is_empty() && biases > bounds.values {
        let reason =
            format!("is for each of the prompts, {biases} numbers in all; at most {}", bounds.values);
        return Err(fields.refuse(codes::INVALID_VALUE, "logit_bias", &reason));
    }
    let seed = sampling::take_seed(&mut fields)?;
    let max_tokens = sampling::take_max_tokens(&mut fields, &["max_tokens", "max_completion_tokens"])?;
    let stop = request::take_stop(&mut fields)?;
    let ignore_eos = fields.take_bool("ignore_eos")?.unwrap_or(false);
    let logprobs = fields.take_integer("logprobs", 0..=5)?;
    if fields.take_bool("echo")? == Some(true) {
        return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, "echo", "is not supported"));
    }
    if fields.take_string("suffix")?.is_some_and(|suffix| !suffix.is_empty()) {
        return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, "suffix", "is not supported"));
    }
    fields.ignore(&["user", "metadata", "store"]);
    fields.refuse_rest()?;
    Ok(Request {
        endpoint: Endpoint::Completion,
        model,
        input,
        more,
        media: Media::default(),
        sampling,
        seed,
        max_tokens: Some(max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)),
        stop,
        ignore_eos,
        stream,
        include_usage,
        logprobs: logprobs.map(|top| u8::try_from(top).unwrap_or(0)),
    })
}

/// The first prompt, and those that follow it.
fn take_prompts(fields: &mut Fields, most: usize) -> Result<(Input, Vec<Input>), Refusal> {
    let Some(prompt) = fields.take("prompt") else {
        return Err(fields.refuse(codes::MISSING_PARAMETER, "prompt", "must be given"));
    };
    let Value::Array(list) = prompt else { return Ok((take_prompt(fields, prompt)?, Vec::new())) };
    if !matches!(list.first(), Some(Value::String(_) | Value::Array(_))) {
        return Ok((take_prompt(fields, Value::Array(list))?, Vec::new()));
    }
    if list.len() > most {
        let reason = format!("holds {} prompts, and at most {most} are taken", list.len());
        return Err(fields.refuse(codes::INVALID_VALUE, "prompt", &reason));
    }
    let mut prompts = list.into_iter();
    let first = take_prompt(fields, prompts.next().unwrap_or_default())?;
    Ok((first, prompts.map(|prompt| take_prompt(fields, prompt)).collect::<Result<_, _>>()?))
}

fn take_prompt(fields: &Fields, prompt: Value) -> Result<Input, Refusal> {
    match prompt {
        Value::String(text) => Ok(Input::Text { text }),
        Value::Array(list) if list.is_empty() => {
            Err(fields.refuse(codes::INVALID_VALUE, "prompt", "must not be empty"))
        }
        Value::Array(list) => {
            let token = |item: &Value| item.as_u64().and_then(|token| Token::try_from(token).ok());
            match list.iter().position(|item| token(item).is_none()) {
                None => Ok(Input::Tokens { tokens: list.iter().filter_map(token).collect::<Vec<_>>() }),
                Some(at) => {
                    let reason = format!("holds {}, which is no token id", show(&list[at]));
                    Err(fields.refuse(codes::INVALID_VALUE, "prompt", &reason))
                }
            }
        }
        other => Err(fields.mistyped("prompt", "a string or an array of token ids", &other)),
    }
}
