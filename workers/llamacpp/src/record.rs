//! The capability record: what llama.cpp's adapter can do, in the specification's words.

use crate::sizing::Size;
use serde_json::{Value, json};
use superfluid_core::capability::Record;

const NO_MEDIA: &str = "the llamacpp runtime has no media path";
const NO_EMBEDDING: &str = "the llamacpp runtime serves text generation only";
const HEAD_ONLY: &str = "this model's state can be used at a sequence's head only";

/// What is known of a loaded model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// The file's `general.architecture`.
    pub(crate) architecture: &'a str,
    /// Backend family of the device it runs on.
    pub(crate) backend: &'a str,
    /// Whether a sequence can be cut at its head only.
    pub(crate) head_only: bool,
    /// Its context's size.
    pub(crate) size: Size,
}

/// The record; without `known`, what holds for every model.
pub(crate) fn record(version: &str, known: Option<&Known<'_>>) -> Record {
    let mut record = json!({
        "descriptor_version": 1,
        "runtime": { "id": "llamacpp", "version": version },
        "load": { "kv_bits": "the llamacpp runtime keeps its KV type per context and exposes no such knob" },
        "workload": {
            "causal_generation": true,
            "embedding": NO_EMBEDDING,
            "speech_to_text": NO_MEDIA,
        },
        "modalities": {
            "image_encode": NO_MEDIA,
            "audio_encode": NO_MEDIA,
            "transcribe": NO_MEDIA,
            "translate": NO_MEDIA,
        },
        "serving": {
            "sequences": true,
            "park_lossy": "the llamacpp runtime exports no lossy encoding",
            "speculation_strategies": [],
        },
        "adaptation": { "lora_load": "the llamacpp runtime loads no adapters" },
        "sampling": { "logit_bias": true, "penalties": true, "top_logprobs_max": 20 },
        "determinism": {
            "seed_reproducible": true,
            "batch_invariant": "llama.cpp's results depend on the batch's shape by rounding",
        },
    });
    if let Some(known) = known {
        let cuts = if known.head_only { Value::from(HEAD_ONLY) } else { Value::from(true) };
        record["architecture"] = known.architecture.into();
        record["backend"] = known.backend.into();
        record["state"] = json!({ "rollback": cuts, "shared_prefix_seed": true });
        record["limits"] = json!({ "max_seq_len": known.size.window, "max_seqs": known.size.lanes });
    }
    match record {
        Value::Object(map) => Record(map),
        _ => Record::default(),
    }
}
