//! A submitted job made ready for the device: rendered, tokenized, validated.

use crate::runtime::Vocabulary;
use crate::template::{Conversation, Specials, Template, json_size};
use std::cell::OnceCell;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::api::codes;
use superfluid_core::sched::{Config, Job, Token};
use superfluid_core::wire::{Delivered, Input, Sampling, Submit, TokenLogprob};

/// Likeliest tokens a job may ask for, a token.
const MAX_TOP: u8 = 20;

/// A job the device can start on.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) sampling: Sampling,
    pub(super) stop: Vec<String>,
    pub(super) ignore_eos: bool,
    pub(super) logprobs: Option<u8>,
    pub(super) delivered: Delivered,
    pub(super) held: Vec<TokenLogprob>,
}

impl Prepared {
    /// Prompt tokens, committed ones excluded.
    pub(super) fn prompt_tokens(&self) -> u32 {
        let all = u32::try_from(self.job.prompt.len()).unwrap_or(u32::MAX);
        all.saturating_sub(self.job.committed)
    }
}

/// Bytes no token is longer than, with room to spare: the longest in use are runs of 128 spaces.
const LONGEST: u64 = 1024;

/// Bytes the marks around a message count as: looking for special tokens is a tokenizer's slow part.
const MARKS: usize = 256;

/// What preparing takes of the loaded model.
pub(super) struct Prepare {
    vocabulary: Arc<dyn Vocabulary>,
    specials: Specials,
    /// A template that does not compile refuses chats, not the load: text still works.
    /// Compiled by the thread that renders, which has the stack for it.
    template: OnceCell<Result<Template, Refusal>>,
    source: Option<String>,
    config: Config,
    bos: String,
    eos: String,
}

impl Prepare {
    pub(super) fn new(vocabulary: Arc<dyn Vocabulary>, source: Option<String>, config: Config) -> Self {
        let (bos, eos) = (vocabulary.bos_text(), vocabulary.eos_text());
        let specials = Specials::new(vocabulary.specials());
        Self { vocabulary, specials, template: OnceCell::new(), source, config, bos, eos }
    }

    pub(super) fn prepare(&self, submit: Submit) -> Result<Prepared, Refusal> {
        let field = field(&submit.input);
        let mut prompt = self.prompt(&submit)?;
        self.known(&prompt, field)?;
        self.known(&submit.committed, "committed")?;
        self.known(submit.sampling.logit_bias.keys(), "logit_bias")?;
        finite(&submit.sampling)?;
        if let Some(top) = submit.logprobs.filter(|top| *top > MAX_TOP) {
            let message = format!("top_logprobs is {top}, at most {MAX_TOP}");
            return Err(Refusal::new("invalid_value", message).param("top_logprobs"));
        }
        prompt.extend_from_slice(&submit.committed);
        let job = Job {
            id: submit.id,
            class: submit.class,
            committed: u32::try_from(submit.committed.len()).unwrap_or(u32::MAX),
            max_tokens: submit.max_tokens.unwrap_or(u32::MAX),
            prompt,
        };
        self.config.admits(&job).map_err(|refusal| refusal.param(field))?;
        Ok(Prepared {
            job,
            sampling: submit.sampling,
            stop: submit.stop,
            ignore_eos: submit.ignore_eos,
            logprobs: submit.logprobs,
            delivered: submit.delivered,
            held: submit.held,
        })
    }

    fn prompt(&self, submit: &Submit) -> Result<Vec<Token>, Refusal> {
        match &submit.input {
            Input::Tokens { tokens } => Ok(tokens.clone()),
            // Who writes a raw prompt is their own template: control tokens are theirs to write.
            Input::Text { text } => {
                self.fits(text, "prompt")?;
                self.vocabulary.tokenize(text, true, true)
            }
            Input::Chat { messages, tools, kwargs } => {
                let Some(source) = &self.source else {
                    return Err(Refusal::new("unsupported_input", "the model has no chat template")
                        .hint("send the prompt as text to /v1/completions")
                        .param("messages"));
                };
                let template = self.template.get_or_init(|| Template::compile(source, self.specials.list()));
                let template = template.as_ref().map_err(Clone::clone)?;
                let rendered = template.render(Conversation {
                    messages,
                    tools,
                    kwargs,
                    bos: &self.bos,
                    eos: &self.eos,
                    now_unix: submit.now_unix,
                })?;
                self.fits(&rendered.text, "messages")?;
                self.specials.tokens(&rendered, &*self.vocabulary)
            }
        }
    }

    /// A text that is too long whatever its tokens are is not cut into them first: that can take
    /// many seconds, in which nobody else is let in.
    fn fits(&self, text: &str, field: &str) -> Result<(), Refusal> {
        let window = self.config.engine.seq_tokens;
        if text.len() as u64 > u64::from(window) * LONGEST {
            let message = format!(
                "the prompt has {} bytes, but the model's context holds {window} tokens, prompt and reply together",
                text.len()
            );
            return Err(Refusal::new(codes::CONTEXT_LENGTH_EXCEEDED, message)
                .hint("shorten the prompt")
                .param(field));
        }
        Ok(())
    }

    fn known<'a>(&self, tokens: impl IntoIterator<Item = &'a Token>, field: &str) -> Result<(), Refusal> {
        let size = self.vocabulary.size();
        match tokens.into_iter().find(|token| **token >= size) {
            None => Ok(()),
            Some(token) => {
                let message =
                    format!("{field} names token {token}, the model's tokens are 0 to {}", size - 1);
                Err(Refusal::new("invalid_value", message).param(field))
            }
        }
    }
}

/// Bytes of text that preparing `input` goes over, roughly.
pub(super) fn size(input: &Input) -> usize {
    match input {
        Input::Text { text } => text.len(),
        Input::Tokens { .. } => 0,
        Input::Chat { messages, tools, .. } => {
            messages.iter().chain(tools).map(|m| MARKS + json_size(m)).sum()
        }
    }
}

fn field(input: &Input) -> &'static str {
    match input {
        Input::Chat { .. } => "messages",
        Input::Text { .. } | Input::Tokens { .. } => "prompt",
    }
}

/// Numbers that would make every logit useless. The API has its own, narrower ranges.
fn finite(sampling: &Sampling) -> Result<(), Refusal> {
    let repeats = sampling.repeat_penalty;
    let numbers = [
        ("temperature", sampling.temperature, sampling.temperature.is_finite()),
        ("top_p", sampling.top_p, sampling.top_p.is_finite()),
        ("min_p", sampling.min_p, sampling.min_p.is_finite()),
        ("presence_penalty", sampling.presence_penalty, sampling.presence_penalty.is_finite()),
        ("frequency_penalty", sampling.frequency_penalty, sampling.frequency_penalty.is_finite()),
        ("repetition_penalty", repeats, repeats.is_finite() && repeats > 0.0),
    ];
    let bias = sampling.logit_bias.values().map(|bias| ("logit_bias", *bias, bias.is_finite()));
    match numbers.into_iter().chain(bias).find(|(.., good)| !good) {
        None => Ok(()),
        Some((name, value, _)) => {
            Err(Refusal::new("invalid_value", format!("{name} is {value}")).param(name))
        }
    }
}
