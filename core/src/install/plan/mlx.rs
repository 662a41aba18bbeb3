//! MLX's environment: a private CPython and wheels, each by its digest, for Apple silicon alone.

use super::{Candidate, Planning, Request, archive, install_name, planned, tested};
use crate::host::{Finding, HostFacts};
use crate::install::recipe::{Recipe, Role};
use crate::install::{Index, Packages, Plan, Source};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

const BACKEND: &str = "metal";

pub(super) fn plan(request: &Request, facts: &HostFacts, recipe: &Recipe) -> Result<Planning, Refusal> {
    let version = request.version.as_deref().unwrap_or(&recipe.version);
    tested(request, version, recipe)?;
    let platform = on_apple_silicon(facts)?;
    if let Some(named) = request.backend.as_deref().filter(|named| *named != BACKEND) {
        return Err(Refusal::new(
            "no_build",
            format!("MLX has no {named} build for this machine, only {BACKEND}"),
        )
        .hint("leave --backend out"));
    }
    if version != recipe.version {
        return Err(Refusal::new(
            "no_pin",
            format!("no wheels are pinned for mlx {version}, only for {}", recipe.version),
        )
        .hint("every package is installed by a digest known before; a superfluid that pins this version installs it"));
    }
    if request.sha256.is_some() {
        return Err(Refusal::new(
            "sha256_without_archive",
            "--sha256 goes with an archive, and mlx is made of packages",
        )
        .hint(format!("every file of mlx {version} has its SHA-256 already, wherever it comes from")));
    }
    let python = recipe.assets.iter().find(|asset| asset.role == Role::Python && asset.platform == platform);
    let python = python.ok_or_else(|| {
        Refusal::new("no_build", format!("mlx {version} has no Python for {platform}"))
            .hint("serve a GGUF file with the llamacpp runtime instead")
    })?;
    let reason = "Apple silicon".to_string();
    let plan = Plan {
        runtime: request.runtime.as_str().to_string(),
        name: install_name(version, BACKEND)?,
        version: version.into(),
        backend: BACKEND.into(),
        assets: vec![planned(python, recipe)],
        packages: Some(Packages { index: index(request)?, wheels: recipe.wheels.clone() }),
        reason: reason.clone(),
    };
    let candidate = Candidate {
        backend: BACKEND.into(),
        build: None,
        plan: Some(0),
        reason,
        source: facts.arch.source.clone(),
    };
    Ok(Planning { candidates: vec![candidate], plans: vec![plan], warnings: vec![] })
}

/// The platform, where it is a Mac with Apple silicon; every other machine is refused.
fn on_apple_silicon(facts: &HostFacts) -> Result<String, Refusal> {
    let refuse = |why: String| {
        Err(Refusal::new("unsupported_machine", why)
            .hint("serve a GGUF file with the llamacpp runtime instead"))
    };
    match (&facts.arch.finding, facts.platform()) {
        (_, Some(platform)) if facts.apple_silicon() => Ok(platform),
        (_, Some(platform)) => refuse(format!(
            "MLX runs on Apple silicon alone, and this machine is {platform} ({})",
            facts.arch.source
        )),
        (Finding::Unknown(why), None) => refuse(format!(
            "MLX runs on Apple silicon alone, and whether this machine is one could not be found out: {why} ({})",
            facts.arch.source
        )),
        (_, None) => {
            refuse("MLX runs on Apple silicon alone, and this machine's architecture is not known".into())
        }
    }
}

/// `--from` names a package index: an address, or a folder of wheels.
fn index(request: &Request) -> Result<Index, Refusal> {
    let Some(from) = &request.from else { return Ok(Index::Default) };
    Ok(match archive::source(from)? {
        Source::Url { url } => Index::Url { url },
        Source::File { path } => Index::Folder { path },
    })
}
