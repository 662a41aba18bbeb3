//! The shards of an MLX directory, by its `model.safetensors.index.json`.

use crate::refusal::Refusal;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use serde::Deserialize;

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
