//! `org/model[:tag]` and a revision of it.

use crate::refusal::Refusal;
use crate::runtime::format::{Format, hub_id};
use crate::runtime::{Pick, RuntimeId};
use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A model of a hub as people name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelId {
    /// Who publishes it.
    pub org: String,
    /// The repository's name.
    pub name: String,
    /// Which of several: a quantization (`Q4_K_M`) or a file's name.
    pub tag: Option<String>,
}

impl ModelId {
    /// Reads `org/model[:tag]`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = || {
            Refusal::new("bad_model_id", format!("{text:?} is not a model's id"))
                .hint("an id is <org>/<model>, or <org>/<model>:<quantization>")
        };
        if !hub_id(text) {
            return Err(refuse());
        }
        let (path, tag) = text.split_once(':').map_or((text, None), |(path, tag)| (path, Some(tag)));
        let (org, name) = path.split_once('/').ok_or_else(refuse)?;
        Ok(Self { org: org.into(), name: name.into(), tag: tag.map(String::from) })
    }

    /// `org/model`
    pub fn repo(&self) -> String {
        format!("{}/{}", self.org, self.name)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.name)?;
        match &self.tag {
            Some(tag) => write!(f, ":{tag}"),
            None => Ok(()),
        }
    }
}

/// A branch, a tag or a commit of a repository; the branch `main` unless another is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision(String);

impl Default for Revision {
    fn default() -> Self {
        Self("main".into())
    }
}

impl Revision {
    /// Checks a name: letters, digits, `.`, `_`, `-` in parts with `/` between, none of them a dot
    /// alone or beginning with one.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
        if text.len() <= 128 && text.split('/').all(part) {
            return Ok(Self(text.into()));
        }
        Err(Refusal::new("bad_revision", format!("{text:?} is not a revision"))
            .hint("a revision is a branch, a tag or a commit of the repository, for example main"))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The format to pull for the runtime that was picked for an id.
pub fn wanted(id: &ModelId, pick: &Pick) -> Result<Format, Refusal> {
    match pick.runtime {
        RuntimeId::Llamacpp => Ok(Format::Gguf),
        RuntimeId::Mlx => Ok(Format::MlxDirectory),
        RuntimeId::Basert => Err(Refusal::new(
            "needs_basert_tool",
            format!(
                "{id} goes to the basert runtime ({}), whose models are pulled with the basert tool",
                pick.reason
            ),
        )
        .hint(format!("basert pull {} fetches it; then serve the .base file by its path", id.repo()))
        .hint(
            "or pass --runtime llamacpp for the repository's GGUF files, --runtime mlx for its safetensors",
        )),
        RuntimeId::Mock => Err(Refusal::new(
            "unsupported_format",
            format!("the {} runtime serves no model of a hub", pick.runtime),
        )
        .hint("pass --runtime llamacpp or --runtime mlx")),
    }
}
