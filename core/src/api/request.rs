//! A parsed request, and the job it becomes.

use super::fields::Fields;
use super::{codes, fields};
use crate::refusal::Refusal;
use crate::sched::{Class, JobId};
use crate::wire::{Input, Sampling, Submit};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// Stop strings a request may have.
const MAX_STOPS: usize = 4;
/// Bytes a stop string may have.
const MAX_STOP_BYTES: usize = 64 << 10;

/// Which shape the reply has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completion,
}

/// Media that the messages hold. What a model takes is the capability record's matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// An image part.
    pub image: bool,
    /// An audio part.
    pub audio: bool,
}

/// A request, valid as far as it can be told without the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where it came in.
    pub endpoint: Endpoint,
    /// A served model's id, exactly.
    pub model: String,
    /// What the model is given. A message with media keeps its list of parts.
    pub input: Input,
    /// Further prompts of a completion, after `input`; each makes a choice of its own.
    pub more: Vec<Input>,
    /// Media in `input`.
    pub media: Media,
    /// How tokens are drawn, the seed apart.
    pub sampling: Sampling,
    /// The client's seed; without one the daemon chooses.
    pub seed: Option<u64>,
    /// Completion tokens at most; `None` is up to the context window.
    pub max_tokens: Option<u32>,
    /// Generation ends before any of these; none is empty.
    pub stop: Vec<String>,
    /// Go on past end-of-generation tokens.
    pub ignore_eos: bool,
    /// Reply in events.
    pub stream: bool,
    /// One more event with the usage.
    pub include_usage: bool,
    /// Report log probabilities, with this many alternatives a token.
    pub logprobs: Option<u8>,
}

impl Request {
    /// How many choices the reply has: one a prompt.
    pub fn choices(&self) -> usize {
        1 + self.more.len()
    }

    /// A request for each prompt, in their order.
    pub fn split(mut self) -> Vec<Self> {
        let more = core::mem::take(&mut self.more);
        // Prompts are large: none is cloned with the rest.
        let first = core::mem::replace(&mut self.input, Input::Tokens { tokens: Vec::new() });
        core::iter::once(first).chain(more).map(|input| Self { input, ..self.clone() }).collect()
    }

    /// The job for the worker, of the first prompt. `default_seed` is used where the client gave none; `now_unix` is
    /// the time a chat template shows.
    pub fn into_submit(self, id: JobId, class: Class, default_seed: u64, now_unix: u64) -> Submit {
        Submit {
            id,
            class,
            input: self.input,
            sampling: Sampling { seed: self.seed.unwrap_or(default_seed), ..self.sampling },
            max_tokens: self.max_tokens,
            stop: self.stop,
            ignore_eos: self.ignore_eos,
            logprobs: self.logprobs,
            committed: Vec::new(),
            delivered: crate::wire::Delivered::default(),
            held: Vec::new(),
            now_unix,
        }
    }

    /// Refuses token ids that a vocabulary of `vocab` tokens does not have.
    ///
    /// # Errors
    /// `invalid_value` for a token of the prompt or of `logit_bias`.
    pub fn check_vocab(&self, vocab: u32) -> Result<(), Refusal> {
        let prompt = match &self.input {
            Input::Tokens { tokens } => tokens.iter().max(),
            _ => None,
        };
        let bias = self.sampling.logit_bias.keys().next_back();
        for (param, token) in [("prompt", prompt), ("logit_bias", bias)] {
            if let Some(token) = token.filter(|&&token| token >= vocab) {
                let message = format!("'{param}' names token {token}, and the model has {vocab} tokens");
                return Err(Refusal::new(codes::INVALID_VALUE, message).param(param));
            }
        }
        Ok(())
    }
}

/// `model`, which must be one of `served`.
pub(super) fn take_model(fields: &mut Fields, served: &[&str]) -> Result<String, Refusal> {
    let list = if served.is_empty() {
        "no model is served".to_string()
    } else {
        format!("served: {}", served.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", "))
    };
    let model = fields.take_string("model").map_err(|refusal| refusal.hint(list.clone()))?;
    let Some(model) = model else {
        return Err(fields.refuse(codes::MISSING_PARAMETER, "model", "must name a model").hint(list));
    };
    if served.contains(&model.as_str()) {
        return Ok(model);
    }
    let message = format!("the model '{}' is not served", fields::short(&model));
    Err(Refusal::new(codes::MODEL_NOT_FOUND, message).hint(list).param("model"))
}

/// `stream` and `stream_options.include_usage`.
pub(super) fn take_stream(fields: &mut Fields) -> Result<(bool, bool), Refusal> {
    let stream = fields.take_bool("stream")?.unwrap_or(false);
    let Some(options) = fields.take("stream_options") else { return Ok((stream, false)) };
    let mut options = Fields::inside(options, "stream_options".into(), "stream_options")?;
    if !stream {
        return Err(fields.refuse(codes::INVALID_VALUE, "stream_options", "needs 'stream' to be true"));
    }
    let usage = options.take_bool("include_usage")?.unwrap_or(false);
    // Padding against guessing text from event sizes; an option to have it is no promise that it is there.
    options.ignore(&["include_obfuscation"]);
    options.refuse_rest()?;
    Ok((stream, usage))
}

/// `stop`: `null` and `[]` are none, a string is a list of one.
pub(super) fn take_stop(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let list = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(text @ Value::String(_)) => [text].into(),
        Some(other) => return Err(fields.mistyped("stop", "a string or an array of strings", &other)),
    };
    if list.len() > MAX_STOPS {
        let reason = format!("takes at most {MAX_STOPS} strings, and has {}", list.len());
        return Err(fields.refuse(codes::INVALID_VALUE, "stop", &reason));
    }
    let mut stops = Vec::new();
    for item in list {
        let Value::String(text) = item else {
            return Err(fields.mistyped("stop", "a string or an array of strings", &item));
        };
        if text.is_empty() {
            return Err(fields.refuse(codes::INVALID_VALUE, "stop", "must not hold an empty string"));
        }
        if text.len() > MAX_STOP_BYTES {
            let reason = format!("holds a string of more than {MAX_STOP_BYTES} bytes");
            return Err(fields.refuse(codes::INVALID_VALUE, "stop", &reason));
        }
        stops.push(text);
    }
    Ok(stops)
}

/// `n` and its like, of which only 1 is served.
pub(super) fn only_one(fields: &mut Fields, name: &str) -> Result<(), Refusal> {
    match fields.take(name) {
        None => Ok(()),
        Some(value) if value.as_u64() == Some(1) => Ok(()),
        Some(value) => {
            let reason = format!("can only be 1 here, and is {}", fields::show(&value));
            Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, name, &reason))
        }
    }
}
