//! Tested releases as data: which assets a version has, for which machine, with which digest.

mod listing;

pub use listing::AssetName;

use super::check::{self, Sha256};
use super::packages::Wheel;
use super::{InstallName, Trust};
use crate::refusal::Refusal;
use crate::runtime::RuntimeId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

const LLAMACPP: &str = include_str!("llamacpp.json");
const BASERT: &str = include_str!("basert.json");
const MLX: &str = include_str!("mlx.json");

/// What an asset holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The runtime's libraries and tools.
    Runtime,
    /// The CUDA runtime libraries, for a system without them.
    CudaRuntime,
    /// A Python interpreter of the runtime's own.
    Python,
}

/// One file of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// File name; judged like an install name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Lower-case hex, 64 digits.
    pub sha256: String,
    /// `linux-x64`, `macos-arm64`, …
    pub platform: String,
    /// The exact backend: `cuda-13.4`, `vulkan`, `cpu`.
    pub backend: String,
    /// What it holds.
    pub role: Role,
}

impl Asset {
    /// The backend without its version, as install names carry it: `cuda`.
    pub fn family(&self) -> &str {
        family(&self.backend)
    }
}

/// A backend without its version: `cuda-13.4` → `cuda`.
pub fn family(backend: &str) -> &str {
    backend.split_once('-').map_or(backend, |(family, _)| family)
}

/// One version of a runtime and how it is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Whose recipe it is.
    pub runtime: RuntimeId,
    /// The version these assets belong to.
    pub version: String,
    /// The day it was published, `2026-09-30`.
    pub published: String,
    /// The project on its forge.
    pub project: String,
    /// An asset's address, with `{name}`, and `{version}` where releases are named after versions.
    pub url_template: String,
    /// Where the assets of another version are listed, with `{version}`; empty where nowhere.
    pub release_api_template: String,
    /// CUDA major → the oldest driver branch that runs it.
    pub cuda_driver_min: BTreeMap<u32, u32>,
    /// Exact backends that are never chosen, only named.
    pub named_only_backends: Vec<String>,
    /// The release's files.
    pub assets: Vec<Asset>,
    /// Whose word the digests are.
    #[serde(default = "pinned")]
    pub trust: Trust,
    /// Other versions whose digests are pinned.
    #[serde(default)]
    pub others: Vec<Release>,
    /// The packages of its Python environment, where it has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wheels: Vec<Wheel>,
}

/// Another version's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The version these assets belong to.
    pub version: String,
    /// Its files.
    pub assets: Vec<Asset>,
}

const fn pinned() -> Trust {
    Trust::Recipe
}

/// The recipe of `runtime` as it is kept, or why this build has none.
fn text_of(runtime: RuntimeId) -> Result<&'static str, Refusal> {
    match runtime {
        RuntimeId::Llamacpp => Ok(LLAMACPP),
        RuntimeId::Mock => Err(Refusal::new("no_recipe", "the mock runtime is built in")
            .hint("serve with --runtime mock; there is nothing to install")),
        RuntimeId::Basert => Ok(BASERT),
        RuntimeId::Mlx => Ok(MLX),
    }
}

impl Recipe {
    /// The tested release of `runtime`; refused for a runtime whose installs this build does not
    /// manage.
    pub fn of(runtime: RuntimeId) -> Result<Self, Refusal> {
        Self::parse(text_of(runtime)?)
    }

    /// The command that installs `runtime`, or what to do where this build installs none; a hint.
    pub fn how_to_get(runtime: RuntimeId) -> String {
        match text_of(runtime) {
            Ok(_) => format!("superfluid runtime install {runtime}"),
            Err(refusal) => refusal.hints.into_iter().next().unwrap_or(refusal.message),
        }
    }

    /// Reads a recipe and checks everything in it that later meets a path or an address.
    pub fn parse(json: &str) -> Result<Self, Refusal> {
        let recipe: Self = serde_json::from_str(json)
            .map_err(|error| Refusal::new("bad_recipe", format!("the recipe cannot be read: {error}")))?;
        recipe.validate()?;
        Ok(recipe)
    }

    /// The address of one of its assets.
    pub fn url(&self, asset: &Asset) -> String {
        self.url_of(&self.version, &asset.name)
    }

    /// The address of a file of `version`.
    pub fn url_of(&self, version: &str, name: &str) -> String {
        // A plus may stand in a file's name; in an address some take it for a space.
        self.url_template.replace("{version}", version).replace("{name}", &name.replace('+', "%2B"))
    }

    /// The files of `version` whose digests are pinned.
    pub fn pinned(&self, version: &str) -> &[Asset] {
        if version == self.version {
            return &self.assets;
        }
        self.others.iter().find(|other| other.version == version).map_or(&[], |other| &other.assets)
    }

    /// Whether `version` counts as tested: the recipe's own, for basert any of its major.minor,
    /// which is what the engine headers promise to fit.
    pub fn is_tested(&self, version: &str) -> bool {
        let minor = |version: &str| {
            let mut parts = version.splitn(3, '.');
            let (major, minor) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?);
            Some((major, minor))
        };
        version == self.version
            || self.runtime == RuntimeId::Basert
                && minor(version).is_some_and(|wanted| minor(&self.version) == Some(wanted))
    }

    /// The address that lists the assets of `version`.
    pub fn listing_url(&self, version: &str) -> Result<String, Refusal> {
        check::version(version)?;
        Ok(self.release_api_template.replace("{version}", version))
    }

    /// Whether `backend` (exact) is installed only when it is named.
    pub fn named_only(&self, backend: &str) -> bool {
        self.named_only_backends.iter().any(|named| named == backend)
            || matches!(family(backend), "sycl" | "openvino")
    }

    fn validate(&self) -> Result<(), Refusal> {
        let bad = |what: String| Err(Refusal::new("bad_recipe", what));
        check::version(&self.version)?;
        // What a Python environment is made of is another project's, and named after its versions.
        let own_releases = self.wheels.is_empty();
        let api = (!self.release_api_template.is_empty()).then_some((&self.release_api_template, true));
        for (template, versioned) in [(&self.url_template, own_releases)].into_iter().chain(api) {
            if !template.starts_with("https://") || versioned && !template.contains("{version}") {
                return bad(format!("{template:?} is not an https address with a {{version}} in it"));
            }
        }
        for wheel in &self.wheels {
            wheel.validate()?;
        }
        let mut names = BTreeSet::new();
        let own = self.assets.iter().map(|asset| (&self.version, asset));
        let others =
            self.others.iter().flat_map(|other| other.assets.iter().map(|asset| (&other.version, asset)));
        for (version, asset) in own.chain(others) {
            check::version(version)?;
            InstallName::new(&asset.name)?;
            InstallName::of(version, &asset.backend)?;
            if !names.insert(&asset.name) {
                return bad(format!("{} is listed twice", asset.name));
            }
            if asset.size == 0 {
                return bad(format!("{} has no size", asset.name));
            }
            if Sha256::parse(&asset.sha256)?.as_str() != asset.sha256 {
                return bad(format!("the SHA-256 of {} is not plain lower-case hex", asset.name));
            }
        }
        Ok(())
    }
}
