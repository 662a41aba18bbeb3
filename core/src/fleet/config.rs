//! What the fleet is told once.

use crate::time::Duration;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Bounds of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// How long a model may have nothing to do before it is unloaded; `None` keeps it.
    pub idle: Option<Duration>,
    /// Models that are loaded at once, at least 1; `None` is all of them.
    pub loaded_max: Option<usize>,
    /// Requests that wait for one model to be loaded; further ones are refused.
    pub waiting_max: usize,
    /// How long a model that could not be loaded is refused before a request tries again.
    pub retry: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { idle: None, loaded_max: None, waiting_max: 512, retry: Duration::from_secs(10) }
    }
}

/// A model that may be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its id in the API.
    pub id: String,
    /// Whether it is loaded from the start, and not on its first use.
    pub at_start: bool,
}
