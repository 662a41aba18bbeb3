//! What an MLX directory's own files say: its shards, and whether it wants code of its own run.

use crate::refusal::Refusal;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Names the shards of a model.
pub const INDEX: &str = "model.safetensors.index.json";

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The weight files an index names, each a plain name in the same folder.
pub fn shards(index: &[u8]) -> Result<BTreeSet<String>, Refusal> {
    let index: Index = serde_json::from_slice(index)
        .map_err(|error| Refusal::new("bad_model", format!("{INDEX} cannot be read: {error}")))?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    let outside =
        |name: &&String| name.starts_with('.') || name.contains(['/', '\\', '\0']) || name.is_empty();
    match shards.iter().find(outside) {
        None => Ok(shards),
        Some(name) => {
            Err(Refusal::new("bad_model", format!("{INDEX} names {name:?}, which is no file beside it")))
        }
    }
}

/// The files that may name code of the directory's own.
pub const SETTINGS: [&str; 3] = ["config.json", "tokenizer_config.json", "processor_config.json"];

/// The variable that lets a directory's own code run, where it is `1`.
pub const TRUST: &str = "SUPERFLUID_MLX_TRUST_MODEL_CODE";

/// What such code is named under: mlx-lm's key, then transformers'.
const CODE: [&str; 2] = ["model_file", "auto_map"];

/// Refuses a directory whose settings name code of its own, which loading it would run (row I6).
/// `name` is the model as the user gave it, `file` one of [`SETTINGS`], `text` what is in it.
///
/// # Errors
/// `untrusted_model_code`; `bad_model` for settings that can't be read and so can't be judged.
pub fn refuse_own_code(name: &str, file: &str, text: &[u8]) -> Result<(), Refusal> {
    let settings: Map<String, Value> = serde_json::from_slice(text)
        .map_err(|error| Refusal::new("bad_model", format!("{name}: {file} cannot be read: {error}")))?;
    let names = |key: &&str| match settings.get(*key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(_) => true,
    };
    match CODE.into_iter().find(names) {
        None => Ok(()),
        Some(key) => {
            let message =
                format!("{name} brings code of its own, which loading it would run: {file} has \"{key}\"");
            Err(Refusal::new("untrusted_model_code", message)
                .hint(format!("read that code; if you trust it, set {TRUST}=1")))
        }
    }
}
