//! Whether this machine gets a backend, and which build of it. Presence is judged here; whether a
//! device really answers is for the staged worker's `check`.

use crate::host::{Fact, Finding, HostFacts, NvidiaDriver};
use crate::install::recipe::{Asset, Recipe, Role, family};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// One backend, looked at.
pub(super) struct Judgement<'a> {
    pub(super) family: String,
    pub(super) asset: Option<&'a Asset>,
    pub(super) keep: bool,
    pub(super) reason: String,
    pub(super) source: String,
}

/// Judges a backend by the machine's facts, as a plain `install` does.
pub(super) fn judge<'a>(name: &str, platform: &str, facts: &HostFacts, recipe: &'a Recipe) -> Judgement<'a> {
    let asset = newest(name, platform, recipe);
    let (asset, keep, reason, source) = match (name, asset) {
        ("cuda", _) if platform.starts_with("linux-") => cuda(platform, &facts.nvidia, recipe),
        (_, None) => {
            (None, false, format!("{} has no {name} build for {platform}", recipe.version), platform.into())
        }
        (_, Some(asset)) if recipe.named_only(&asset.backend) => {
            let reason = format!("installed only with --backend {name}");
            (Some(asset), false, reason, "the recipe".into())
        }
        ("rocm", asset) => present(asset, "ROCm", &facts.rocm),
        ("vulkan", asset) => present(asset, "a Vulkan loader", &facts.vulkan),
        ("metal", asset) => (asset, true, "Apple silicon".into(), facts.arch.source.clone()),
        (_, asset) => (asset, true, "runs on any machine".into(), platform.into()),
    };
    Judgement { family: name.into(), asset, keep, reason, source }
}

/// Judges the backend the user named. Facts choose among its builds, and refuse only a driver
/// that is known to run none of them: `check` has the last word.
pub(super) fn named<'a>(
    name: &str,
    platform: &str,
    facts: &HostFacts,
    recipe: &'a Recipe,
) -> Result<Judgement<'a>, Refusal> {
    let exact = builds(platform, recipe).into_iter().find(|asset| asset.backend == name);
    let asset = match exact.or_else(|| newest(name, platform, recipe)) {
        None => return Err(no_build(name, platform, recipe)),
        Some(_) if name == "cuda" => match cuda(platform, &facts.nvidia, recipe) {
            (Some(asset), true, ..) => asset,
            (.., reason, source) if facts.nvidia.value().is_some_and(|driver| driver.trouble.is_none()) => {
                return Err(Refusal::new("no_build", format!("{reason} ({source})")).hint(
                    "name an exact build, for example --backend cuda-12.8, to install it all the same",
                ));
            }
            // No word from a driver: the build that the most drivers run.
            _ => oldest(name, platform, recipe).ok_or_else(|| no_build(name, platform, recipe))?,
        },
        Some(asset) => asset,
    };
    Ok(Judgement {
        family: asset.family().into(),
        asset: Some(asset),
        keep: true,
        reason: "named with --backend, so there is no fallback".into(),
        source: format!("--backend {name}"),
    })
}

/// `cuda-13.4` → (13, 4)
pub(super) fn cuda_version(backend: &str) -> Option<(u32, u32)> {
    let (major, minor) = backend.strip_prefix("cuda-")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

type Verdict<'a> = (Option<&'a Asset>, bool, String, String);

fn cuda<'a>(platform: &str, nvidia: &Fact<NvidiaDriver>, recipe: &'a Recipe) -> Verdict<'a> {
    let source = nvidia.source.clone();
    let driver = match &nvidia.finding {
        Finding::Absent => return (None, false, "no NVIDIA driver".into(), source),
        Finding::Unknown(why) => {
            return (None, false, format!("the NVIDIA driver could not be found out: {why}"), source);
        }
        Finding::Known(driver) => driver,
    };
    let version = &driver.version;
    let needs = |asset: &&Asset| {
        let (major, _) = cuda_version(&asset.backend)?;
        recipe.cuda_driver_min.get(&major).copied()
    };
    let builds = builds(platform, recipe).into_iter().filter(|asset| asset.family() == "cuda");
    let runs = builds
        .clone()
        .filter(|asset| needs(asset).is_some_and(|min| min <= version.major()))
        .max_by_key(|asset| cuda_version(&asset.backend));
    let Some(asset) = runs else {
        let least = builds.filter_map(|asset| Some((needs(&asset)?, &asset.backend))).min();
        let why = match least {
            Some((min, build)) => format!("{build} needs {min} or later"),
            None => format!("{} has no CUDA build for {platform}", recipe.version),
        };
        return (None, false, format!("NVIDIA driver {version} runs no CUDA build: {why}"), source);
    };
    match &driver.trouble {
        Some(trouble) => {
            (Some(asset), false, format!("NVIDIA driver {version} cannot be used now: {trouble}"), source)
        }
        None => (Some(asset), true, format!("NVIDIA driver {version} runs {}", asset.backend), source),
    }
}

fn present<'a>(asset: Option<&'a Asset>, what: &str, fact: &Fact<()>) -> Verdict<'a> {
    let (keep, reason) = match &fact.finding {
        Finding::Known(()) => (true, format!("{what} is there")),
        Finding::Absent => (false, format!("no {}", what.trim_start_matches("a "))),
        Finding::Unknown(why) => (false, format!("{what} could not be looked for: {why}")),
    };
    (asset, keep, reason, fact.source.clone())
}

fn builds<'a>(platform: &str, recipe: &'a Recipe) -> Vec<&'a Asset> {
    recipe.assets.iter().filter(|asset| asset.role == Role::Runtime && asset.platform == platform).collect()
}

/// A family's newest build; of builds that differ in more than a version (`sycl-fp16`,
/// `sycl-fp32`) the greatest, which is the more exact one.
fn newest<'a>(name: &str, platform: &str, recipe: &'a Recipe) -> Option<&'a Asset> {
    let of = builds(platform, recipe).into_iter().filter(|asset| asset.family() == name);
    of.max_by(|a, b| super::super::rank::compare_versions(&a.backend, &b.backend))
}

fn oldest<'a>(name: &str, platform: &str, recipe: &'a Recipe) -> Option<&'a Asset> {
    let of = builds(platform, recipe).into_iter().filter(|asset| asset.family() == name);
    of.min_by(|a, b| super::super::rank::compare_versions(&a.backend, &b.backend))
}

fn no_build(name: &str, platform: &str, recipe: &Recipe) -> Refusal {
    let has: Vec<&str> = builds(platform, recipe).iter().map(|asset| asset.backend.as_str()).collect();
    let message = format!("{} {} has no {name} build for {platform}", recipe.runtime, recipe.version);
    let refusal = Refusal::new("no_build", message);
    let near = has.iter().find(|build| family(build) == family(name));
    match (near, has.is_empty()) {
        (Some(near), _) => refusal.hint(format!("it has {near}: pass --backend {near}")),
        (None, false) => refusal.hint(format!("for {platform} it has {}", has.join(", "))),
        (None, true) => refusal.hint("pass --from <archive> with a build of your own".to_string()),
    }
}
