//! The shards of an MLX directory, by its `model.safetensors.index.json`.

use super::Entry;
use crate::refusal::Refusal;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
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

/// Refuses a folder in which shards are missing, naming them.
pub fn complete(name: &str, shards: &BTreeSet<String>, entries: &[Entry]) -> Result<(), Refusal> {
    let there = |shard: &str| entries.iter().any(|entry| entry.name == shard && entry.size.is_some());
    let missing: Vec<&str> = shards.iter().map(String::as_str).filter(|shard| !there(shard)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{name} lacks {} of its {} weight files: {}",
        missing.len(),
        shards.len(),
        missing.join(", ")
    );
    Err(Refusal::new("incomplete_model", message).hint("download the model again"))
}
