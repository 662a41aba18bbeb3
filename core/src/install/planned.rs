//! A plan: what to fetch and place for one backend of one version. Plans come from `plan`, in the
//! order they are tried, and go to `machine`.

use super::{InstallName, Packages};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Where an asset comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Source {
    /// Fetched over https.
    Url {
        /// Starts with `https://`.
        url: String,
    },
    /// A file on this machine; no socket is opened.
    File {
        /// Its path as the user gave it.
        path: String,
    },
}

/// Where an expected digest comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Pinned in the recipe.
    Recipe,
    /// Given by the user with `--sha256`.
    User,
    /// The release page's own word; `--untested` builds only.
    ReleasePage,
}

/// One archive of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedAsset {
    /// File name, for messages and staging; judged like an install name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// Bytes, where known; the fetch is bounded by it.
    pub size: Option<u64>,
    /// Lower-case hex, 64 digits. `None` only for a local file, which installs with a warning.
    pub sha256: Option<String>,
    /// Whose word `sha256` is.
    pub trust: Option<Trust>,
}

/// What to fetch and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Canonical runtime id.
    pub runtime: String,
    /// The directory it becomes.
    pub name: InstallName,
    /// Version as the runtime's project writes it (`b11284`).
    pub version: String,
    /// Backend family as install names carry it (`cuda`, `vulkan`, `cpu`, `metal`).
    pub backend: String,
    /// Archives, unpacked in order; where two carry one name the first wins.
    pub assets: Vec<PlannedAsset>,
    /// What pip puts into the install's environment, where it has one; the archive is its Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<Packages>,
    /// Why this plan is on the list, for people.
    pub reason: String,
}
