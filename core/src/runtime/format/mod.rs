//! What a file or folder is: by its first bytes, or by what lies in it. Names decide nothing; they
//! only help to say what a wrong file probably is.

mod directory;
mod foreign;
pub mod mlx;
mod names;

pub use directory::{Entry, complete, inspect_directory};
pub use names::{byte_part, hub_id, model_name, split_names};

use super::RuntimeId;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

/// How many bytes of a file's start [`inspect_file`] looks at.
pub const HEAD_BYTES: usize = 4096;

/// A format some runtime reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// llama.cpp's.
    Gguf,
    /// MLX's: config.json and safetensors.
    MlxDirectory,
    /// baseRT's.
    BaseBundle,
}

impl Format {
    /// As a noun phrase with its article.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Gguf => "a GGUF file",
            Self::MlxDirectory => "an MLX directory",
            Self::BaseBundle => "a .base bundle",
        }
    }

    /// The runtime that reads it.
    pub const fn runtime(self) -> RuntimeId {
        match self {
            Self::Gguf => RuntimeId::Llamacpp,
            Self::MlxDirectory => RuntimeId::Mlx,
            Self::BaseBundle => RuntimeId::Basert,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A format a runtime reads. Whether this one can be served is for a closer look.
    Model(Format),
    /// Something else.
    Foreign {
        /// What it looks like, a noun phrase with its article.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

/// A file or folder that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspected {
    /// As the user named it.
    pub name: String,
    /// What it is.
    pub verdict: Verdict,
}

impl Inspected {
    /// What it is, as a noun phrase with its article.
    pub fn what(&self) -> &str {
        match &self.verdict {
            Verdict::Model(format) => format.noun(),
            Verdict::Foreign { what, .. } => what,
        }
    }
}

/// Looks at a file: `name` as the user gave it, its size, and its first [`HEAD_BYTES`] (all of a
/// shorter file).
pub fn inspect_file(name: &str, size: u64, head: &[u8]) -> Inspected {
    let verdict = match head.get(..4) {
        Some(b"GGUF") => Verdict::Model(Format::Gguf),
        Some(b"BASE") => Verdict::Model(Format::BaseBundle),
        _ => foreign::looks(name, size, head),
    };
    Inspected { name: name.to_string(), verdict }
}
