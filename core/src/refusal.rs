//! A refusal is data: a stable code, what happened, and apart from that what to do next.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Why superfluid will not do something, for programs (`code`) and for people (`message`, `hints`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Refusal {
    /// Stable, snake_case: `unsupported_input`, `bad_archive`, `no_such_install`, …
    pub code: String,
    /// What happened and to which file or field, one sentence without a final period.
    pub message: String,
    /// What to do next, most useful first; each stands alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The request field this is about, where there is one (`messages`, `temperature`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
}

impl Refusal {
    /// A refusal without hints.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hints: Vec::new(), param: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Names the request field this is about.
    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }
}

/// The message alone; a caller that shows hints prints them apart.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
