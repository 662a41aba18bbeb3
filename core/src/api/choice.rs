//! One prompt's part of a reply.

use super::Endpoint;
use super::body::{ChatLogprobs, TextLogprobs};
use super::logprobs::Offset;
use crate::wire::TokenLogprob;
use alloc::string::String;

/// What is known of it, and not written yet.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Whether the worker took its job.
    pub(super) accepted: bool,
    /// The text so far, where the reply is not streamed.
    pub(super) text: String,
    pub(super) chat_logprobs: ChatLogprobs,
    pub(super) text_logprobs: TextLogprobs,
    offset: Offset,
    /// Why it ended well, once it has.
    pub(super) finish: Option<&'static str>,
}

impl Choice {
    pub(super) fn score(&mut self, endpoint: Endpoint, entries: &[TokenLogprob]) {
        match endpoint {
            Endpoint::Chat => self.chat_logprobs.extend(entries),
            Endpoint::Completion => self.text_logprobs.extend(entries, &mut self.offset),
        }
    }
}
