//! baseRT's engine: one bundle for each of two kinds of machine, each release by a digest that is
//! pinned here or given by the user.

use super::{Candidate, Planning, Request, install_name, tested};
use crate::host::{Finding, HostFacts};
use crate::install::check::Sha256;
use crate::install::recipe::Recipe;
use crate::install::{Plan, PlannedAsset, Source, Trust};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

/// The bundle a machine takes.
pub(super) struct Engine {
    part: &'static str,
    backend: &'static str,
    reason: String,
    source: String,
}

pub(super) fn plan(request: &Request, facts: &HostFacts, recipe: &Recipe) -> Result<Planning, Refusal> {
    let version = request.version.as_deref().unwrap_or(&recipe.version);
    tested(request, version, recipe)?;
    let engine = engine_of(facts, recipe)?;
    if let Some(named) = request.backend.as_deref().filter(|named| *named != engine.backend) {
        return Err(Refusal::new(
            "no_build",
            format!("baseRT {version} has no {named} engine for this machine, only {}", engine.backend),
        )
        .hint("leave --backend out"));
    }
    let asset = asset(request, version, &engine, recipe)?;
    let mut warnings = vec![];
    if !recipe.is_tested(version) {
        warnings.push(format!(
            "{version} does not match the engine headers this superfluid was built with ({}), and may not load",
            recipe.version
        ));
    }
    let plan = Plan {
        runtime: request.runtime.as_str().to_string(),
        name: install_name(version, engine.backend)?,
        version: version.into(),
        backend: engine.backend.into(),
        assets: vec![asset],
        packages: None,
        reason: engine.reason.clone(),
    };
    let candidate = Candidate {
        backend: engine.backend.into(),
        build: Some(engine.part.into()),
        plan: Some(0),
        reason: engine.reason,
        source: engine.source,
    };
    Ok(Planning { candidates: vec![candidate], plans: vec![plan], warnings })
}

/// Which engine fits this machine; every machine without one is refused.
pub(super) fn engine_of(facts: &HostFacts, recipe: &Recipe) -> Result<Engine, Refusal> {
    let refuse = |why: String| {
        Err(Refusal::new("unsupported_machine", why)
            .hint(format!(
                "{} has engines for Apple silicon, and for Linux on arm64 with an NVIDIA driver",
                recipe.project
            ))
            .hint("serve a GGUF file with the llamacpp runtime instead"))
    };
    match facts.platform().as_deref() {
        Some("macos-arm64") => Ok(Engine {
            part: "macos-arm64",
            backend: "metal",
            reason: "Apple silicon".into(),
            source: facts.arch.source.clone(),
        }),
        Some("linux-arm64") => match &facts.nvidia.finding {
            Finding::Known(driver) => Ok(Engine {
                part: "linux-arm64-cuda",
                backend: "cuda",
                reason: format!("Linux on arm64 with NVIDIA driver {}", driver.version),
                source: facts.nvidia.source.clone(),
            }),
            Finding::Absent => refuse(format!(
                "baseRT's engine needs an NVIDIA driver here, and there is none ({})",
                facts.nvidia.source
            )),
            Finding::Unknown(why) => refuse(format!(
                "baseRT's engine needs an NVIDIA driver here, and whether there is one could not be found out: {why} ({})",
                facts.nvidia.source
            )),
        },
        Some(platform) => refuse(format!("baseRT has no engine for {platform}")),
        None => refuse("this machine's architecture could not be found out".into()),
    }
}

/// The engine's archive, by a pinned digest or the user's, never by anyone else's.
fn asset(
    request: &Request,
    version: &str,
    engine: &Engine,
    recipe: &Recipe,
) -> Result<PlannedAsset, Refusal> {
    let name = format!("basert-engine-{}-{version}.tar.gz", engine.part);
    let given = request.sha256.as_deref().map(Sha256::parse).transpose()?.map(String::from);
    let pinned = recipe.pinned(version).iter().find(|asset| asset.name == name);
    let url = recipe.url_of(version, &name);
    let (size, sha256, trust) = match (pinned, given) {
        (Some(pinned), Some(given)) if given != pinned.sha256 => {
            return Err(Refusal::new(
                "wrong_sha256",
                format!("{name} is pinned with the SHA-256 {}, not {given}", pinned.sha256),
            )
            .hint("leave --sha256 out; an archive of your own goes with --from"));
        }
        (Some(pinned), _) => (Some(pinned.size), pinned.sha256.clone(), Trust::Recipe),
        (None, Some(given)) if request.version.is_some() => (None, given, Trust::User),
        (None, _) => {
            return Err(Refusal::new("no_pin", format!("no SHA-256 is pinned for {name}"))
                .hint(format!("pass --version {version} --sha256 H; baseRT publishes it as {url}.sha256")));
        }
    };
    Ok(PlannedAsset { name, source: Source::Url { url }, size, sha256: Some(sha256), trust: Some(trust) })
}
