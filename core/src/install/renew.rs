//! `runtime update`, `repair` and `verify`: what they are about, read off what is installed.

use super::check::{self, Sha256, staged_name};
use super::machine::{EntryKind, Listing, installed, no_such_install};
use super::plan::{Request, plan};
use super::recipe::{Recipe, family};
use super::{
    Candidate, Index, InstallName, Installed, Manifest, ManifestSource, Packages, Plan, PlannedAsset,
    Planning, Source, Trust, Wheel, layout, rank,
};
use crate::host::HostFacts;
use crate::refusal::Refusal;
use crate::runtime::RuntimeId;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What an update comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Update {
    /// A newer tested build goes beside the default, and takes its place.
    Newer {
        /// The default now.
        default: InstallName,
        /// What to install.
        planning: Planning,
    },
    /// The default is the tested build, or newer: there is nothing to do.
    Newest {
        /// The default.
        default: InstallName,
        /// The tested version.
        tested: String,
    },
}

/// The newest tested build for the default install's backend. Never an older one than is there.
pub fn update(listing: &Listing, facts: &HostFacts, recipe: &Recipe) -> Result<Update, Refusal> {
    let runtime = recipe.runtime;
    let installs = installed(listing);
    let (default, manifest) = default_of(listing, &installs).ok_or_else(|| {
        Refusal::new("not_installed", format!("the {runtime} runtime has no whole install to update"))
            .hint(Recipe::how_to_get(runtime))
    })?;
    if rank::compare_versions(&manifest.version, &recipe.version).is_ge() {
        return Ok(Update::Newest { default: default.clone(), tested: recipe.version.clone() });
    }
    check::backend(&manifest.backend)?;
    let backend = family(&manifest.backend).to_owned();
    let mut planning = plan(&Request { backend: Some(backend), ..Request::new(runtime) }, facts, recipe)?;
    explain(&mut planning, &format!("the newest tested build for the backend of {default}"), default);
    Ok(Update::Newer { default: default.clone(), planning })
}

/// The same version and backend again, from where its manifest says it came; without `name`, the
/// default install, whole or not.
pub fn repair(
    name: Option<&InstallName>,
    listing: &Listing,
    facts: &HostFacts,
    recipe: &Recipe,
) -> Result<Planning, Refusal> {
    let runtime = recipe.runtime;
    let name = match name {
        Some(name) if is_dir(listing, name) => name.clone(),
        Some(name) => return Err(no_such_install(name, listing)),
        None => to_repair(listing).ok_or_else(|| {
            Refusal::new("not_installed", format!("the {runtime} runtime has no install to repair"))
                .hint(Recipe::how_to_get(runtime))
        })?,
    };
    let path = layout::manifest(runtime, &name);
    let text = listing.entries.iter().find(|entry| entry.name == name.as_str());
    let text = text.and_then(|entry| entry.manifest.as_deref());
    match text.and_then(|text| Manifest::parse(text, &path).ok()) {
        Some(manifest) if !manifest.sources.is_empty() => again(runtime, &name, &manifest, recipe, &path),
        _ => from_name(&name, facts, recipe),
    }
}

/// An install to verify, with its manifest or why there is none.
pub type Recorded = (InstallName, Result<Manifest, Refusal>);

/// Each install to verify, best first.
pub fn manifests(
    runtime: RuntimeId,
    name: Option<&InstallName>,
    listing: &Listing,
) -> Result<Vec<Recorded>, Refusal> {
    if let Some(name) = name.filter(|name| !is_dir(listing, name)) {
        return Err(no_such_install(name, listing));
    }
    let dirs = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    let mut found: Vec<Recorded> = dirs
        .filter_map(|entry| Some((InstallName::new(&entry.name).ok()?, entry.manifest.as_deref())))
        .filter(|(install, _)| name.is_none_or(|name| name == install))
        .map(|(install, text)| {
            let path = layout::manifest(runtime, &install);
            let manifest = match text {
                Some(text) => Manifest::parse(text, &path),
                None => Err(Refusal::new("bad_manifest", format!("{path} cannot be read"))),
            };
            (install, manifest)
        })
        .collect();
    if found.is_empty() {
        return Err(Refusal::new("not_installed", format!("the {runtime} runtime has no installs"))
            .hint(Recipe::how_to_get(runtime)));
    }
    found.sort_by(|(a, _), (b, _)| rank::compare(a, b));
    Ok(found)
}

/// The install that serves when none is named, with its manifest: the one `current` names, else
/// what ranking says.
fn default_of<'a>(listing: &Listing, installs: &'a [Installed]) -> Option<(&'a InstallName, &'a Manifest)> {
    let whole = |install: &'a Installed| Some((&install.name, install.manifest.as_ref()?));
    let current = listing.current.as_deref().and_then(layout::named);
    let current = installs.iter().find(|install| Some(&install.name) == current.as_ref());
    let pinned = listing.pinned.as_deref().and_then(layout::named);
    current.and_then(whole).or_else(|| {
        let named = installs.iter().find(|install| Some(&install.name) == pinned.as_ref());
        named.and_then(whole).or_else(|| rank::default_install(installs, None).and_then(whole))
    })
}

/// What a repair without a name means: the pinned install, else the one `current` names, else the
/// best-ranked, each also where it is not whole.
fn to_repair(listing: &Listing) -> Option<InstallName> {
    let named =
        |text: &Option<String>| text.as_deref().and_then(layout::named).filter(|name| is_dir(listing, name));
    let dirs = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    let best = || dirs.filter_map(|entry| InstallName::new(&entry.name).ok()).min_by(rank::compare);
    named(&listing.pinned).or_else(|| named(&listing.current)).or_else(best)
}

fn is_dir(listing: &Listing, name: &InstallName) -> bool {
    listing.entries.iter().any(|entry| entry.name == name.as_str() && entry.kind == EntryKind::Dir)
}

fn again(
    runtime: RuntimeId,
    name: &InstallName,
    manifest: &Manifest,
    recipe: &Recipe,
    path: &str,
) -> Result<Planning, Refusal> {
    check::version(&manifest.version)?;
    check::backend(&manifest.backend)?;
    let (wheels, archives): (Vec<_>, Vec<_>) =
        manifest.sources.iter().partition(|source| Wheel::is_named(&source.name));
    let assets: Vec<PlannedAsset> = archives
        .into_iter()
        .enumerate()
        .map(|(index, source)| source_again(index, source, &manifest.version, recipe))
        .collect::<Result<_, _>>()?;
    let reason = format!("the same version and backend as {name}, from the same archives");
    let candidate = Candidate {
        backend: family(&manifest.backend).to_owned(),
        build: None,
        plan: Some(0),
        reason: reason.clone(),
        source: path.to_owned(),
    };
    let plan = Plan {
        runtime: runtime.as_str().to_owned(),
        name: name.clone(),
        version: manifest.version.clone(),
        backend: family(&manifest.backend).to_owned(),
        assets,
        packages: packages_again(&wheels)?,
        reason,
    };
    Ok(Planning { candidates: vec![candidate], plans: vec![plan], warnings: Vec::new() })
}

/// The recorded wheels, each by its recorded digest, from the index they came from.
fn packages_again(wheels: &[&ManifestSource]) -> Result<Option<Packages>, Refusal> {
    let Some(first) = wheels.first() else { return Ok(None) };
    let index = Index::of_words(&first.from);
    let again = |source: &&ManifestSource| {
        let wheel = Wheel {
            file: source.name.clone(),
            size: source.size.unwrap_or_default(),
            sha256: source.sha256.clone(),
        };
        wheel.validate().map(|()| wheel)
    };
    let wheels = wheels.iter().map(again).collect::<Result<_, _>>()?;
    Ok(Some(Packages { index, wheels }))
}

/// A recorded archive. Where the recipe knows the very file, its word counts, not the disk's.
fn source_again(
    index: usize,
    source: &ManifestSource,
    version: &str,
    recipe: &Recipe,
) -> Result<PlannedAsset, Refusal> {
    let pinned = recipe.pinned(version).iter().find(|asset| asset.name == source.name);
    if let Some(asset) = pinned.filter(|_| source.trust == Some(Trust::Recipe)) {
        return Ok(PlannedAsset {
            name: asset.name.clone(),
            source: Source::Url { url: recipe.url_of(version, &asset.name) },
            size: Some(asset.size),
            sha256: Some(asset.sha256.clone()),
            trust: Some(recipe.trust),
        });
    }
    let from = source.from.clone();
    let is_url = from.starts_with("https://");
    Ok(PlannedAsset {
        name: staged_name(&source.name, &format!("archive-{index}.tar.gz")),
        source: if is_url { Source::Url { url: from } } else { Source::File { path: from } },
        size: source.size,
        sha256: Some(Sha256::parse(&source.sha256)?.into()),
        trust: source.trust,
    })
}

/// An install whose manifest says nothing is known by its name alone.
fn from_name(name: &InstallName, facts: &HostFacts, recipe: &Recipe) -> Result<Planning, Refusal> {
    let runtime = recipe.runtime;
    let (version, backend) = name.as_str().rsplit_once('-').unwrap_or((name.as_str(), ""));
    if version != recipe.version || backend.is_empty() {
        return Err(Refusal::new(
            "no_sources",
            format!("{name} does not say what it was made from: its {} cannot be read", layout::MANIFEST),
        )
        .hint(format!(
            "install it anew: superfluid runtime install {runtime} --version {version} --backend {backend} --untested"
        ))
        .hint(format!("or remove it: superfluid runtime remove {runtime} {name}")));
    }
    let asked = Request { backend: Some(backend.to_owned()), ..Request::new(runtime) };
    let mut planning = plan(&asked, facts, recipe)?;
    explain(&mut planning, &format!("the tested build that {name} is named after"), name);
    Ok(planning)
}

/// Puts the true reason in the place of `--backend`'s.
fn explain(planning: &mut Planning, reason: &str, install: &InstallName) {
    for candidate in &mut planning.candidates {
        reason.clone_into(&mut candidate.reason);
        candidate.source = format!("the install {install}");
    }
    for plan in &mut planning.plans {
        reason.clone_into(&mut plan.reason);
    }
}
