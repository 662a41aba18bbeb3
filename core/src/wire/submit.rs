//! A job as the daemon hands it over: input still in the client's terms, everything else decided.

use super::JobUpdate;
use crate::sched::{Class, JobId, Token};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the model is given. The worker renders and tokenizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// A conversation for the model's chat template.
    Chat {
        /// Messages in OpenAI's shape, validated: text parts joined, `developer` turned `system`.
        messages: Vec<Value>,
        /// Tools in OpenAI's shape; empty for none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<Value>,
        /// `chat_template_kwargs`. With `continue_final_message` the last message, an assistant's text, is
        /// gone on with.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        kwargs: Map<String, Value>,
    },
    /// Plain text, tokenized with the model's own begin-of-text rule.
    Text {
        /// The text.
        text: String,
    },
    /// Tokens as they are.
    Tokens {
        /// The tokens.
        tokens: Vec<Token>,
    },
}

/// How tokens are drawn. The defaults are the OpenAI API's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f32,
    /// Keep the k likeliest; 0 is off.
    pub top_k: u32,
    /// Keep the smallest set with this probability; 1 is off.
    pub top_p: f32,
    /// Drop what is less likely than this share of the likeliest; 0 is off.
    pub min_p: f32,
    /// Subtracted from the logit of each token already generated.
    pub presence_penalty: f32,
    /// Subtracted once for each time a token was generated.
    pub frequency_penalty: f32,
    /// llama.cpp's repeat penalty over prompt and reply; 1 is off.
    pub repeat_penalty: f32,
    /// Added to logits before anything else. A list of pairs on the wire: inside a tagged frame
    /// serde cannot read numbers back from the keys of an object.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub logit_bias: BTreeMap<Token, f32>,
    /// Draws depend on this and the position only.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repeat_penalty: 1.0,
            logit_bias: BTreeMap::new(),
            seed: 0,
        }
    }
}

impl Sampling {
    /// Whether the likeliest token is taken with nothing moved: the runtime's own argmax will do.
    pub fn is_plain_greedy(&self) -> bool {
        self.temperature <= 0.0
            && self.presence_penalty == 0.0
            && self.frequency_penalty == 0.0
            && self.repeat_penalty == 1.0
            && self.logit_bias.is_empty()
    }
}

/// A map as a list of pairs.
mod pairs {
    use super::{BTreeMap, Token, Vec};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Token, f32>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Token, f32>, D::Error> {
        Ok(Vec::<(Token, f32)>::deserialize(from)?.into_iter().collect())
    }
}

/// A job for the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// The daemon's name for it.
    pub id: JobId,
    /// How urgent it is.
    pub class: Class,
    /// What the model is given.
    pub input: Input,
    /// How tokens are drawn.
    #[serde(default)]
    pub sampling: Sampling,
    /// Completion tokens at most; `None` is up to the context window.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Generation ends before any of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Go on past end-of-generation tokens.
    #[serde(default)]
    pub ignore_eos: bool,
    /// Report each token's log probability and this many alternatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u8>,
    /// Tokens an earlier worker generated for this job; they are not repeated to the daemon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub committed: Vec<Token>,
    /// What the client already has of those tokens' text; the rest of it is still to be sent.
    #[serde(default, skip_serializing_if = "Delivered::is_nothing")]
    pub delivered: Delivered,
    /// The log probabilities of those tokens that the client does not have: those of the last ones,
    /// whose text was held back. The logits they came from are gone with the earlier worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<TokenLogprob>,
    /// Seconds since 1970 that a chat template's clock shows; fixed at admission.
    pub now_unix: u64,
}

impl Submit {
    /// Adds what a worker brought to what its successor is given, and takes out of `update` what only
    /// a successor needs.
    pub fn commit(&mut self, update: &mut JobUpdate) {
        self.committed.extend_from_slice(&update.tokens);
        self.delivered.text += update.text.len() as u64;
        self.delivered.logprobs += update.logprobs.len() as u64;
        let told = update.logprobs.len().min(self.held.len());
        self.held.drain(..told);
        self.held.append(&mut update.held);
        self.held.truncate(self.committed.len());
    }
}

/// What a client has of a continued job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delivered {
    /// Bytes of text.
    pub text: u64,
    /// Entries of log probabilities.
    pub logprobs: u64,
}

impl Delivered {
    /// Whether the client has nothing yet.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A generated token's log probability, after OpenAI's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// Its bytes; may be part of a character.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability before sampling filters.
    pub logprob: f32,
    /// The likeliest tokens, likeliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<TopLogprob>,
}

/// One alternative to a generated token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopLogprob {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability.
    pub logprob: f32,
}
