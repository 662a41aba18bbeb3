//! Requests a model cannot serve, refused with the specification's body.

use super::{Leaf, Record, Support};
use crate::api::{Endpoint, Request, codes};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;

/// What a path asks of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Chat and text completions.
    Generation,
    /// `/v1/embeddings`.
    Embeddings,
    /// `/v1/audio/transcriptions`.
    Transcription,
    /// `/v1/audio/translations`.
    Translation,
}

impl Workload {
    const fn leaf(self) -> (Leaf, &'static str) {
        match self {
            Self::Generation => (Leaf::CausalGeneration, "text generation"),
            Self::Embeddings => (Leaf::Embedding, "embeddings"),
            Self::Transcription => (Leaf::Transcribe, "transcription"),
            Self::Translation => (Leaf::Translate, "translation"),
        }
    }
}

/// Refuses a workload that the model `model` does not serve.
///
/// # Errors
/// `unsupported_model`: `model '…' on runtime … does not serve embeddings: why`.
pub fn validate_workload(record: &Record, model: &str, workload: Workload) -> Result<(), Refusal> {
    let (leaf, what) = workload.leaf();
    need(record, model, leaf, &format!("serve {what}"), codes::UNSUPPORTED_MODEL, "model")
}

/// Refuses a generation request that the model `model` cannot serve: media it does not take,
/// parameters its runtime does not have.
///
/// # Errors
/// `unsupported_input`, `unsupported_model` and `unsupported_parameter`.
pub fn validate_request(record: &Record, model: &str, request: &Request) -> Result<(), Refusal> {
    validate_workload(record, model, Workload::Generation)?;
    for (given, leaf, what) in [
        (request.media.image, Leaf::ImageEncode, "images"),
        (request.media.audio, Leaf::AudioEncode, "audio"),
    ] {
        if given {
            need(record, model, leaf, &format!("accept {what}"), codes::UNSUPPORTED_INPUT, "messages")?;
        }
    }
    let sampling = &request.sampling;
    for (given, leaf, param) in [
        (!sampling.logit_bias.is_empty(), Leaf::LogitBias, "logit_bias"),
        (sampling.presence_penalty != 0.0, Leaf::Penalties, "presence_penalty"),
        (sampling.frequency_penalty != 0.0, Leaf::Penalties, "frequency_penalty"),
        (sampling.repeat_penalty != 1.0, Leaf::Penalties, "repeat_penalty"),
        (request.logprobs.is_some(), Leaf::TopLogprobs, "logprobs"),
    ] {
        if given {
            need(record, model, leaf, &format!("support {param}"), codes::UNSUPPORTED_PARAMETER, param)?;
        }
    }
    let most = record.number("sampling", "top_logprobs_max");
    if let Some((top, most)) = request.logprobs.zip(most)
        && u64::from(top) > most
    {
        let why = format!("at most {most} alternatives a token");
        let param = match request.endpoint {
            Endpoint::Chat => "top_logprobs",
            Endpoint::Completion => "logprobs",
        };
        let what = format!("support {top} {param}");
        let message = message(record, model, &what, &why);
        return Err(Refusal::new(codes::UNSUPPORTED_PARAMETER, message).param(param));
    }
    Ok(())
}

fn need(
    record: &Record,
    model: &str,
    leaf: Leaf,
    what: &str,
    code: &str,
    param: &str,
) -> Result<(), Refusal> {
    match record.support(leaf) {
        Support::No(why) => Err(Refusal::new(code, message(record, model, what, why)).param(param)),
        Support::Yes | Support::Unknown => Ok(()),
    }
}

/// The specification's sentence.
fn message(record: &Record, model: &str, what: &str, why: &str) -> String {
    let runtime = record.runtime();
    format!("model '{model}' on runtime {runtime} does not {what}: {why}")
}
