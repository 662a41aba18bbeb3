//! A request, the machine's facts and a recipe in; an ordered list of plans out, and for every
//! backend that was looked at why it is on the list or not.

mod archive;
mod basert;
mod judge;
mod mlx;

use super::check::{self, Sha256};
use super::recipe::{Asset, Recipe, Role};
use super::{InstallName, Plan, PlannedAsset, Source};
use crate::host::HostFacts;
use crate::refusal::Refusal;
use crate::runtime::RuntimeId;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use judge::{Judgement, judge};
use serde::{Deserialize, Serialize};

/// What `superfluid runtime install` was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Which runtime.
    pub runtime: RuntimeId,
    /// `--version V`
    pub version: Option<String>,
    /// `--backend B`: a family (`cuda`) or an exact build (`cuda-12.8`); no fallback.
    pub backend: Option<String>,
    /// `--from <archive>`: an https address or a path. For mlx a package index.
    pub from: Option<String>,
    /// `--sha256 H`, with `--from`.
    pub sha256: Option<String>,
    /// `--untested`
    pub untested: bool,
}

impl Request {
    /// A plain `runtime install <id>`.
    pub const fn new(runtime: RuntimeId) -> Self {
        Self { runtime, version: None, backend: None, from: None, sha256: None, untested: false }
    }
}

/// A backend that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Family: `cuda`.
    pub backend: String,
    /// The exact build, where there is one: `cuda-13.4`.
    pub build: Option<String>,
    /// Its place in [`Planning::plans`], or `None` where it was refused.
    pub plan: Option<usize>,
    /// Why it is on the list, or why not, for people.
    pub reason: String,
    /// Where the fact behind the reason was read: a file, a command, a flag.
    pub source: String,
}

/// What to try, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planning {
    /// Every backend that was looked at, best first.
    pub candidates: Vec<Candidate>,
    /// The plans, in the order they are tried; never empty.
    pub plans: Vec<Plan>,
    /// What the user should know before it starts.
    pub warnings: Vec<String>,
}

/// Backends in the order they are tried; the last two only when named.
const ORDER: [&str; 7] = ["metal", "cuda", "rocm", "vulkan", "cpu", "sycl", "openvino"];

/// The version whose release listing must be fetched before planning, if any. Refuses what
/// [`plan`] would refuse without looking at assets.
pub fn wants_listing<'a>(request: &'a Request, recipe: &Recipe) -> Result<Option<&'a str>, Refusal> {
    validate(request)?;
    // A basert release is never installed on its page's word, and of an mlx one every wheel is pinned.
    if request.from.is_some() || matches!(request.runtime, RuntimeId::Basert | RuntimeId::Mlx) {
        return Ok(None);
    }
    match &request.version {
        Some(version) if *version != recipe.version => {
            tested(request, version, recipe)?;
            Ok(Some(version))
        }
        _ => Ok(None),
    }
}

/// Plans an install. `recipe` is the tested one ([`Recipe::of`]), or for a version that
/// [`wants_listing`] what [`Recipe::with_listing`] made of its release listing.
pub fn plan(request: &Request, facts: &HostFacts, recipe: &Recipe) -> Result<Planning, Refusal> {
    validate(request)?;
    if request.runtime == RuntimeId::Mlx {
        return mlx::plan(request, facts, recipe);
    }
    if request.from.is_some() {
        return archive::plan(request, facts, recipe);
    }
    if request.runtime == RuntimeId::Basert {
        return basert::plan(request, facts, recipe);
    }
    if let Some(version) = request.version.as_ref().filter(|version| **version != recipe.version) {
        tested(request, version, recipe)?;
        return Err(Refusal::new("unknown_release", format!("what release {version} holds is not known"))
            .hint("pass --from <archive>"));
    }
    if recipe.trust == super::Trust::ReleasePage && !request.untested {
        tested_version(&recipe.version, None)?;
    }
    if request.sha256.is_some() {
        return Err(Refusal::new("sha256_without_from", "--sha256 goes with --from")
            .hint(format!("every asset of {} {} has its SHA-256 already", request.runtime, recipe.version)));
    }
    let platform = facts.platform().ok_or_else(|| {
        Refusal::new("unknown_machine", "this machine's architecture could not be found out")
            .hint("pass --from <archive> and --backend")
    })?;
    let mut planning = Planning { candidates: Vec::new(), plans: Vec::new(), warnings: Vec::new() };
    if recipe.trust == super::Trust::ReleasePage {
        let version = &recipe.version;
        planning.warnings.push(format!(
            "{version} has not been tested with this superfluid, and its digests are its own release page's word"
        ));
    }
    let judged = match &request.backend {
        Some(named) => vec![judge::named(named, &platform, facts, recipe)?],
        None => {
            let known = ORDER.iter().filter(|family| on_system(family, &platform, recipe));
            known.map(|family| judge(family, &platform, facts, recipe)).collect()
        }
    };
    for judgement in judged {
        let Judgement { family, asset, keep, reason, source } = judgement;
        let index = match asset.filter(|_| keep) {
            Some(asset) => {
                planning.plans.push(of_recipe(request, asset, facts, recipe, &reason)?);
                Some(planning.plans.len() - 1)
            }
            None => None,
        };
        let build = asset.map(|asset| asset.backend.clone());
        planning.candidates.push(Candidate { backend: family, build, plan: index, reason, source });
    }
    if planning.plans.is_empty() {
        return Err(nothing(request, &platform, recipe));
    }
    Ok(planning)
}

/// Whether this operating system has the backend at all; where not, it is not worth a line.
fn on_system(name: &str, platform: &str, recipe: &Recipe) -> bool {
    let system = |platform: &str| platform.split('-').next().map(String::from);
    recipe.assets.iter().any(|asset| asset.family() == name && system(&asset.platform) == system(platform))
}

/// The install name of a version and a backend, family or exact.
pub fn install_name(version: &str, backend: &str) -> Result<InstallName, Refusal> {
    check::version(version)?;
    check::backend(backend)?;
    InstallName::of(version, super::recipe::family(backend))
}

fn validate(request: &Request) -> Result<(), Refusal> {
    if let Some(version) = &request.version {
        check::version(version)?;
    }
    if let Some(backend) = &request.backend {
        check::backend(backend)?;
    }
    if let Some(sha256) = &request.sha256 {
        Sha256::parse(sha256)?;
    }
    Ok(())
}

fn tested(request: &Request, version: &str, recipe: &Recipe) -> Result<(), Refusal> {
    if recipe.is_tested(version) || request.untested {
        return Ok(());
    }
    tested_version(version, Some(&recipe.version))
}

fn tested_version(version: &str, tested: Option<&str>) -> Result<(), Refusal> {
    let instead = tested.map_or(String::new(), |tested| format!("; the tested version is {tested}"));
    Err(Refusal::new(
        "untested_version",
        format!("{version} has not been tested with this superfluid{instead}"),
    )
    .hint("pass --untested to install it all the same"))
}

fn of_recipe(
    request: &Request,
    asset: &Asset,
    facts: &HostFacts,
    recipe: &Recipe,
    reason: &str,
) -> Result<Plan, Refusal> {
    let mut assets = vec![planned(asset, recipe)];
    assets.extend(companion(asset, facts, recipe).map(|companion| planned(companion, recipe)));
    Ok(Plan {
        runtime: request.runtime.as_str().to_string(),
        name: install_name(&recipe.version, &asset.backend)?,
        version: recipe.version.clone(),
        backend: asset.family().into(),
        assets,
        packages: None,
        reason: reason.into(),
    })
}

fn planned(asset: &Asset, recipe: &Recipe) -> PlannedAsset {
    PlannedAsset {
        name: asset.name.clone(),
        source: Source::Url { url: recipe.url(asset) },
        size: Some(asset.size),
        sha256: Some(asset.sha256.clone()),
        trust: Some(recipe.trust),
    }
}

/// The CUDA libraries that go with a CUDA build, unless the system has that major.
fn companion<'a>(asset: &Asset, facts: &HostFacts, recipe: &'a Recipe) -> Option<&'a Asset> {
    let major = judge::cuda_version(&asset.backend)?.0;
    if facts.cuda_runtimes.value().is_some_and(|majors| majors.contains(&major)) {
        return None;
    }
    recipe.assets.iter().find(|other| {
        other.role == Role::CudaRuntime && other.platform == asset.platform && other.backend == asset.backend
    })
}

fn nothing(request: &Request, platform: &str, recipe: &Recipe) -> Refusal {
    let version = &recipe.version;
    Refusal::new("no_build", format!("{} {version} has no build for {platform}", request.runtime))
        .hint("pass --from <archive> with a build of your own")
}
