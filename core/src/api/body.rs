//! The reply bodies, as the OpenAI API spells them. Field order is theirs.

use super::json::to_bytes;
use crate::sched::{Finish, Usage};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// Who and when; the same in every chunk of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) id: String,
    pub(super) model: String,
    /// Seconds since 1970.
    pub(super) created: u64,
}

#[derive(Serialize)]
pub(super) struct Whole<'a, C: Serialize> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [C],
    /// Outer `None`: no such key; inner `None`: `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageBody>>,
}

impl<'a, C: Serialize> Whole<'a, C> {
    pub(super) fn bytes(
        stamp: &'a Stamp,
        object: &'static str,
        choices: &'a [C],
        usage: Option<Option<UsageBody>>,
    ) -> Vec<u8> {
        let Stamp { id, model, created } = stamp;
        to_bytes(&Self { id, object, created: *created, model, choices, usage })
    }
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct UsageBody {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
}

#[derive(Clone, Copy, Serialize)]
struct PromptDetails {
    cached_tokens: u32,
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            total_tokens: u64::from(usage.prompt) + u64::from(usage.completion),
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cached },
        }
    }
}

#[derive(Serialize)]
pub(super) struct ChatChoice<'a> {
    pub(super) index: usize,
    pub(super) message: ChatMessage<'a>,
    pub(super) logprobs: Option<&'a ChatLogprobs>,
    pub(super) finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct ChatMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: &'a str,
    pub(super) refusal: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ChatChunkChoice<'a> {
    pub(super) index: usize,
    pub(super) delta: Delta<'a>,
    pub(super) logprobs: Option<&'a ChatLogprobs>,
    pub(super) finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
pub(super) struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct TextChoice<'a> {
    pub(super) index: usize,
    pub(super) text: &'a str,
    pub(super) logprobs: Option<&'a TextLogprobs>,
    pub(super) finish_reason: Option<&'static str>,
}

/// Log probabilities of a chat reply.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatLogprobs {
    pub(super) content: Vec<ChatLogprob>,
    /// Always `null`: a model's own refusal is text here.
    refusal: (),
}

#[derive(Debug, Serialize)]
pub(super) struct ChatLogprob {
    #[serde(flatten)]
    pub(super) chosen: Candidate,
    pub(super) top_logprobs: Vec<Candidate>,
}

#[derive(Debug, Serialize)]
pub(super) struct Candidate {
    pub(super) token: String,
    pub(super) logprob: f32,
    pub(super) bytes: Vec<u8>,
}

/// Log probabilities of a text completion: lists side by side.
#[derive(Debug, Default, Serialize)]
pub(super) struct TextLogprobs {
    pub(super) tokens: Vec<String>,
    pub(super) token_logprobs: Vec<f32>,
    pub(super) top_logprobs: Vec<Ranked>,
    pub(super) text_offset: Vec<u64>,
}

/// Alternatives as an object, likeliest first.
#[derive(Debug)]
pub(super) struct Ranked(pub(super) Vec<(String, f32)>);

impl Serialize for Ranked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(token, logprob)| (token, logprob)))
    }
}

/// OpenAI's word for why a reply ended well.
pub(super) fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "length",
        Finish::Stop | Finish::Cancelled => "stop",
    }
}
