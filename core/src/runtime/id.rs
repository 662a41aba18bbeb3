//! The four runtimes by name.

use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A runtime superfluid knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeId {
    /// llama.cpp: serves GGUF files.
    Llamacpp,
    /// MLX: serves MLX directories on Apple silicon.
    Mlx,
    /// The baseRT engine: serves `.base` bundles.
    Basert,
    /// Built in, serves nothing real: what the test suite drives.
    Mock,
}

impl RuntimeId {
    /// Every runtime, in the order people are shown them.
    pub const ALL: [Self; 4] = [Self::Llamacpp, Self::Mlx, Self::Basert, Self::Mock];

    /// The runtime an id or alias names. Ids are people's words, not file names, so case is ignored.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        let found = Self::ALL.into_iter().find(|id| {
            name.eq_ignore_ascii_case(id.as_str())
                || id.aliases().iter().any(|alias| name.eq_ignore_ascii_case(alias))
        });
        found.ok_or_else(|| {
            Refusal::new("no_such_runtime", format!("{name:?} is not a runtime"))
                .hint("the runtimes are llamacpp, mlx, basert and mock")
        })
    }

    /// The canonical id.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Llamacpp => "llamacpp",
            Self::Mlx => "mlx",
            Self::Basert => "basert",
            Self::Mock => "mock",
        }
    }

    /// Other names people use.
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Llamacpp => &["llama.cpp", "llama-cpp"],
            Self::Basert => &["native"],
            Self::Mlx | Self::Mock => &[],
        }
    }

    /// What it serves, as a noun phrase.
    pub const fn serves(self) -> &'static str {
        match self {
            Self::Llamacpp => "GGUF files",
            Self::Mlx => "MLX directories (Apple silicon)",
            Self::Basert => ".base bundles",
            Self::Mock => "nothing real",
        }
    }

    /// Its worker's program name.
    pub fn worker(self) -> String {
        format!("superfluid-worker-{}", self.as_str())
    }

    /// The environment variable that names a worker of one's own, `SUPERFLUID_WORKER_<ID>`.
    pub const fn worker_variable(self) -> &'static str {
        match self {
            Self::Llamacpp => "SUPERFLUID_WORKER_LLAMACPP",
            Self::Mlx => "SUPERFLUID_WORKER_MLX",
            Self::Basert => "SUPERFLUID_WORKER_BASERT",
            Self::Mock => "SUPERFLUID_WORKER_MOCK",
        }
    }
}

impl fmt::Display for RuntimeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
