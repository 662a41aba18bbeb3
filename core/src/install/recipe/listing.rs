//! A release that is not in the recipe, read off its project's release listing.

use super::{Asset, Recipe, Role};
use crate::install::check::{self, Sha256};
use crate::install::machine::{Fault, FaultKind};
use crate::install::{InstallName, Trust};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// What an asset's name says: `[cudart-]llama-<build>-bin-<system>[-<backend>]-<arch>.tar.gz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetName {
    /// `b11284`
    pub version: String,
    /// `linux-x64`
    pub platform: String,
    /// Exact: `cuda-13.4`, `cpu`.
    pub backend: String,
    /// What it holds.
    pub role: Role,
}

impl AssetName {
    /// Reads a file name; `None` when it is not built like an asset of llama.cpp.
    pub fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".tgz"))?;
        let (role, stem) = match stem.strip_prefix("cudart-") {
            Some(rest) => (Role::CudaRuntime, rest),
            None => (Role::Runtime, stem),
        };
        let (version, rest) = stem.strip_prefix("llama-")?.split_once("-bin-")?;
        check::version(version).ok()?;
        let (system, rest) = rest.split_once('-')?;
        let os = match system {
            "ubuntu" => "linux",
            "macos" => "macos",
            _ => return None,
        };
        let (backend, arch) = match rest.rsplit_once('-') {
            Some((backend, arch)) => (Some(backend), arch),
            None => (None, rest),
        };
        if !matches!(arch, "x64" | "arm64") {
            return None;
        }
        let backend = match backend {
            Some(backend) => backend,
            None if os == "macos" && arch == "arm64" => "metal",
            None => "cpu",
        };
        InstallName::of(version, backend).ok()?;
        Some(Self {
            version: version.into(),
            platform: format!("{os}-{arch}"),
            backend: backend.into(),
            role,
        })
    }
}

#[derive(Deserialize)]
struct Listing {
    tag_name: String,
    #[serde(default)]
    published_at: String,
    assets: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    size: u64,
    #[serde(default)]
    digest: Option<String>,
}

impl Recipe {
    /// The same recipe for `version`, out of what its release listing answered. Digests are the
    /// release page's word; assets without one, and files of another kind, are left out.
    pub fn with_listing(&self, version: &str, json: &str) -> Result<Self, Refusal> {
        check::version(version)?;
        let bad = |why: String| Refusal::new("bad_listing", why).hint("try again, or pass --from <archive>");
        let listing: Listing = serde_json::from_str(json)
            .map_err(|error| bad(format!("the release listing of {version} cannot be read: {error}")))?;
        if listing.tag_name != version {
            return Err(bad(format!("asked for {version}, the listing is of {:?}", listing.tag_name)));
        }
        let assets: Vec<Asset> = listing.assets.iter().filter_map(|file| asset(file, version)).collect();
        if assets.is_empty() {
            return Err(bad(format!("release {version} lists no asset with a SHA-256")));
        }
        let published = listing.published_at.chars().take(10).collect();
        let recipe =
            Self { version: version.into(), published, assets, trust: Trust::ReleasePage, ..self.clone() };
        recipe.validate()?;
        Ok(recipe)
    }

    /// Why there is no listing of `version`, and what to do.
    pub fn unlisted(&self, version: &str, fault: &Fault) -> Refusal {
        let runtime = self.runtime;
        match fault.kind {
            FaultKind::Status(404) => {
                Refusal::new("no_such_release", format!("{} has no release {version}", self.project))
                    .hint(format!("check --version; the tested one is {}, and needs no flag", self.version))
            }
            FaultKind::Status(403 | 429) => Refusal::new(
                "listing_refused",
                format!("{} does not say now what release {version} holds: {}", self.project, fault.message),
            )
            .hint("it answers so many questions an hour; try again later")
            .hint(format!(
                "or fetch the archive yourself: superfluid runtime install {runtime} --from <archive>"
            )),
            _ => Refusal::new(
                "network",
                format!("cannot look up release {version} of {}: {}", self.project, fault.message),
            )
            .hint(
                "check the connection and HTTPS_PROXY, or fetch the archive yourself and pass it with --from",
            ),
        }
    }
}

fn asset(file: &Listed, version: &str) -> Option<Asset> {
    let named = AssetName::parse(&file.name).filter(|named| named.version == version)?;
    let sha256 = Sha256::parse(file.digest.as_deref()?).ok()?;
    (file.size > 0).then(|| Asset {
        name: file.name.clone(),
        size: file.size,
        sha256: sha256.into(),
        platform: named.platform,
        backend: named.backend,
        role: named.role,
    })
}
