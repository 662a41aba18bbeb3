//! What a folder is, by the names in it.

use super::{Format, Inspected, Verdict};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Bytes, links followed; `None` for a folder or a link to nothing.
    pub size: Option<u64>,
}

/// Refuses a model of which files are missing. `name` is the model as the user gave it, `files`
/// are those it is made of, `entries` what was found under these names.
pub fn complete<'a>(
    name: &str,
    files: impl IntoIterator<Item = &'a str>,
    entries: &[Entry],
) -> Result<(), Refusal> {
    let there = |file: &str| entries.iter().any(|entry| entry.name == file && entry.size.is_some());
    let files: Vec<&str> = files.into_iter().collect();
    let missing: Vec<&str> = files.iter().copied().filter(|file| !there(file)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let listed = missing.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    let more = if missing.len() > 8 { ", …" } else { "" };
    let message =
        format!("{name} lacks {} of its {} weight files: {listed}{more}", missing.len(), files.len());
    Err(Refusal::new("incomplete_model", message).hint("download the model again"))
}

/// Looks at a folder: `name` as the user gave it, and what lies in it.
pub fn inspect_directory(name: &str, entries: &[Entry]) -> Inspected {
    let has = |wanted: &str| entries.iter().any(|entry| entry.name == wanted);
    let ending = |suffix: &str| -> Vec<&str> {
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        names.retain(|name| name.to_ascii_lowercase().ends_with(suffix));
        names.sort_unstable();
        names
    };
    let weights = !ending(".safetensors").is_empty() || has("model.safetensors.index.json");
    let foreign = |what: &str, hint: String| Verdict::Foreign { what: what.to_string(), hint };
    let folder = name.trim_end_matches('/');
    let verdict = if has("config.json") && weights {
        Verdict::Model(Format::MlxDirectory)
    } else if let Some(file) = ending(".gguf").first() {
        foreign("a directory with GGUF files in it", format!("pass the file itself: {folder}/{file}"))
    } else if let Some(file) = ending(".base").first() {
        foreign("a directory with a .base bundle in it", format!("pass the file itself: {folder}/{file}"))
    } else if has("config.json") {
        foreign("a directory with a config.json and no weights", "download the model again".to_string())
    } else if weights {
        foreign("a directory with weights and no config.json", "download the model again".to_string())
    } else {
        foreign("a directory without a model", "pass a GGUF file or an MLX directory".to_string())
    };
    Inspected { name: name.to_string(), verdict }
}
