//! `--from`: one plan out of the user's own archive.

use super::{Candidate, Planning, Request, install_name, tested};
use crate::host::HostFacts;
use crate::install::check::{Sha256, staged_name};
use crate::install::recipe::{AssetName, Recipe, Role, family};
use crate::install::{Plan, PlannedAsset, Source, Trust};
use crate::refusal::Refusal;
use crate::runtime::RuntimeId;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

pub(super) fn plan(request: &Request, facts: &HostFacts, recipe: &Recipe) -> Result<Planning, Refusal> {
    let from = request.from.as_deref().unwrap_or_default();
    let source = source(from)?;
    let file = file_name(&source);
    let says = AssetName::parse(file);
    if says.as_ref().is_some_and(|says| says.role == Role::CudaRuntime) {
        return Err(Refusal::new("not_a_runtime", format!("{file} holds the CUDA libraries alone"))
            .hint("pass the archive without cudart- in front"));
    }
    if request.runtime == RuntimeId::Basert {
        super::basert::engine_of(facts, recipe)?;
    }
    let sha256 = request.sha256.as_deref().map(Sha256::parse).transpose()?;
    if sha256.is_none() && matches!(source, Source::Url { .. }) {
        return Err(unchecked(file, recipe));
    }

    let mut warnings = Vec::new();
    let version = request.version.clone().or_else(|| says.as_ref().map(|says| says.version.clone()));
    let version = version.unwrap_or_else(|| recipe.version.clone());
    tested(request, &version, recipe)?;
    let (backend, told) = backend(request, says.as_ref(), facts);
    if let Some(says) = &says {
        if says.version != version {
            warnings.push(format!("{file} is named after {}, and is installed as {version}", says.version));
        }
        if family(&says.backend) != family(&backend) {
            warnings.push(format!("{file} is named after {}, and is installed as {backend}", says.backend));
        }
        if facts.platform().is_some_and(|platform| platform != says.platform) {
            warnings.push(format!("{file} is named after {}, which this machine is not", says.platform));
        }
    }
    if sha256.is_none() {
        warnings.push(format!("{file} is installed unchecked: no --sha256 was given"));
    }

    let reason = "named with --from, so there is no fallback".to_string();
    let asset = PlannedAsset {
        name: staged_name(file, "archive.tar.gz"),
        source,
        size: None,
        trust: sha256.is_some().then_some(Trust::User),
        sha256: sha256.map(String::from),
    };
    let plan = Plan {
        runtime: request.runtime.as_str().to_string(),
        name: install_name(&version, &backend)?,
        version,
        backend: family(&backend).into(),
        assets: vec![asset],
        packages: None,
        reason: reason.clone(),
    };
    let candidate = Candidate {
        backend: plan.backend.clone(),
        build: Some(backend),
        plan: Some(0),
        reason,
        source: told,
    };
    Ok(Planning { candidates: vec![candidate], plans: vec![plan], warnings })
}

/// An address is https; anything without `://` is a path.
pub(super) fn source(from: &str) -> Result<Source, Refusal> {
    if from.is_empty() {
        return Err(
            Refusal::new("bad_source", "--from names no archive").hint("pass a path or an https address")
        );
    }
    let scheme = from.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => {
            let rest = &from[scheme.len()..];
            let host = rest[3..].split(['/', '?', '#']).next().unwrap_or_default();
            if host.contains('@') {
                // Not shown: whoever reads the log must not learn them.
                return Err(Refusal::new(
                    "bad_source",
                    "--from has a user name or a password in its address, where every user of this machine can read them",
                )
                .hint("fetch the archive yourself and pass its path"));
            }
            if rest.len() == 3 || rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
                return Err(Refusal::new("bad_source", format!("{from:?} is not an address")));
            }
            Ok(Source::Url { url: format!("https{rest}") })
        }
        Some(scheme) if is_scheme(scheme) => {
            Err(Refusal::new("bad_source", format!("archives are fetched over https only, not {scheme}"))
                .hint("fetch it yourself and pass its path"))
        }
        _ => Ok(Source::File { path: from.into() }),
    }
}

fn file_name(source: &Source) -> &str {
    let path = match source {
        Source::Url { url } => url.split(['?', '#']).next().unwrap_or_default(),
        Source::File { path } => path,
    };
    path.rsplit('/').next().unwrap_or_default()
}

fn backend(request: &Request, says: Option<&AssetName>, facts: &HostFacts) -> (String, String) {
    if let Some(named) = &request.backend {
        return (named.clone(), format!("--backend {named}"));
    }
    if let Some(says) = says {
        return (says.backend.clone(), "the archive's name".into());
    }
    let default = match request.runtime {
        _ if facts.apple_silicon() => "metal",
        RuntimeId::Basert => "cuda",
        _ => "cpu",
    };
    (default.into(), "neither --backend nor the archive's name says one".into())
}

fn unchecked(file: &str, recipe: &Recipe) -> Refusal {
    let refusal = Refusal::new(
        "unchecked_archive",
        format!("{file} comes from elsewhere and there is no SHA-256 to check it against"),
    );
    match recipe.assets.iter().find(|asset| asset.name == file) {
        Some(asset) => {
            refusal.hint(format!("pass --sha256 {} if it is the tested build's archive", asset.sha256))
        }
        None => refusal.hint("pass --sha256 H with the digest its publisher gives"),
    }
}
