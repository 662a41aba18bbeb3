//! An install's own account of itself, `runtime.json`.

use super::{ManifestFile, Plan, Source, Trust};
use crate::refusal::Refusal;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// `runtime.json`. Fields a later superfluid adds are kept when it is written again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version as the runtime's project writes it.
    pub version: String,
    /// Backend family: `cuda`, `cpu`, …
    pub backend: String,
    /// What it was made from.
    pub sources: Vec<ManifestSource>,
    /// The superfluid that installed it.
    #[serde(default)]
    pub superfluid: String,
    /// When, in seconds since 1970.
    #[serde(default)]
    pub installed_at: u64,
    /// Its files and links as they were placed, this one apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ManifestFile>,
    /// What this build does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// One archive or wheel an install was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestSource {
    /// File name.
    pub name: String,
    /// Its address or path; of a wheel, its index.
    pub from: String,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What its bytes hashed to, lower-case hex.
    pub sha256: String,
    /// Whose word the digest was before the fetch; `None` for a local file nobody vouched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl Manifest {
    /// The manifest of a carried-out plan. `fetched` are the sizes and digests of the plan's assets as
    /// they came, in its order; `installed_at` is in seconds since 1970.
    pub fn of(plan: &Plan, fetched: &[(u64, String)], superfluid: &str, installed_at: u64) -> Self {
        let sources = plan.assets.iter().zip(fetched).map(|(asset, (size, sha256))| ManifestSource {
            name: asset.name.clone(),
            from: match &asset.source {
                Source::Url { url } => url.clone(),
                Source::File { path } => path.clone(),
            },
            size: Some(*size),
            sha256: sha256.clone(),
            trust: asset.trust,
        });
        let wheels = plan.packages.iter().flat_map(|packages| {
            packages.wheels.iter().map(|wheel| ManifestSource {
                name: wheel.file.clone(),
                from: packages.index.words().into(),
                size: Some(wheel.size),
                sha256: wheel.sha256.clone(),
                trust: Some(Trust::Recipe),
            })
        });
        Self {
            version: plan.version.clone(),
            backend: plan.backend.clone(),
            sources: sources.chain(wheels).collect(),
            superfluid: superfluid.into(),
            installed_at,
            files: Vec::new(),
            other: BTreeMap::new(),
        }
    }

    /// Reads a `runtime.json`; `path` is for the message.
    pub fn parse(json: &str, path: &str) -> Result<Self, Refusal> {
        serde_json::from_str(json).map_err(|error| {
            Refusal::new("bad_manifest", format!("{path} cannot be read: {error}"))
                .hint("superfluid runtime repair <id> <install> installs it again")
        })
    }

    /// The text of a `runtime.json`, with a line feed at the end.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("string keys and plain values serialise");
        json.push('\n');
        json
    }
}
