//! From what was asked for to an install: facts, recipe, plans, and the machine that carries them out.

use crate::install::{self, Reporter};
use crate::{Home, lookup, net, probe};
use std::time::SystemTime;
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Finished, Machine, Purpose, Settings};
use superfluid_core::install::plan::{plan, wants_listing};
use superfluid_core::install::renew::{self, Update};
use superfluid_core::install::{Index, InstallName, Packages, Planning, Recipe, Request, Source};
use superfluid_core::runtime::{RuntimeId, resolve};

/// A release listing is a few hundred kilobytes.
const LISTING_MAX: u64 = 8 << 20;

/// Plans an install of the tested release or another for this machine. Fetches nothing but, for a
/// version outside the recipe, its release's listing; writes nothing.
pub fn plans(request: &Request) -> Result<Planning, Refusal> {
    plans_of(request, Recipe::of(request.runtime)?)
}

/// The same with a recipe of one's own, which says where releases and their listings are.
pub fn plans_of(request: &Request, mut recipe: Recipe) -> Result<Planning, Refusal> {
    if let Some(version) = wants_listing(request, &recipe)? {
        let listing = net::text(&recipe.listing_url(version)?, LISTING_MAX)
            .map_err(|fault| recipe.unlisted(version, &fault))?;
        recipe = recipe.with_listing(version, &listing)?;
    }
    let mut planning = plan(request, &probe::facts(), &recipe)?;
    for plan in &mut planning.plans {
        for asset in &mut plan.assets {
            if let Source::File { path } = &mut asset.source {
                *path = absolute(path)?;
            }
        }
        if let Some(Packages { index: Index::Folder { path }, .. }) = &mut plan.packages {
            *path = absolute(path)?;
        }
    }
    Ok(planning)
}

/// What is written into the manifest must mean the same from another folder.
fn absolute(path: &str) -> Result<String, Refusal> {
    let whole = std::path::absolute(path)
        .map_err(|error| Refusal::new("io", format!("the path {path} cannot be made absolute: {error}")))?;
    Ok(whole.to_string_lossy().into_owned())
}

/// What `runtime update` comes to here. Fetches nothing, writes nothing.
pub fn update(recipe: &Recipe, home: &Home) -> Result<Update, Refusal> {
    present(recipe.runtime, home)?;
    let listing = install::look(recipe.runtime, &home.runtime(recipe.runtime))?;
    renew::update(&listing, &probe::facts(), recipe)
}

/// What `runtime repair` comes to here. Fetches nothing, writes nothing.
pub fn repair(recipe: &Recipe, name: Option<&InstallName>, home: &Home) -> Result<Planning, Refusal> {
    present(recipe.runtime, home)?;
    let listing = install::look(recipe.runtime, &home.runtime(recipe.runtime))?;
    renew::repair(name, &listing, &probe::facts(), recipe)
}

/// Installs the first of the plans that stands.
pub fn install(
    runtime: RuntimeId,
    planning: Planning,
    purpose: Purpose,
    home: &Home,
    reporter: &mut dyn Reporter,
) -> Result<Finished, Refusal> {
    let settings = Settings {
        nonce: install::nonce(),
        adapter: resolve::adapter(runtime, &lookup::resolve_facts(runtime, &[], home)?),
        superfluid: env!("CARGO_PKG_VERSION").into(),
        installed_at: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs()),
        purpose,
    };
    drive(Machine::install(planning.plans, settings)?, runtime, home, reporter)
}

/// Pins an install as the default, or with `None` returns the default to ranking.
pub fn select(
    runtime: RuntimeId,
    name: Option<InstallName>,
    home: &Home,
    reporter: &mut dyn Reporter,
) -> Result<Finished, Refusal> {
    present(runtime, home)?;
    let machine = name.map_or_else(Machine::unpin, Machine::pin);
    drive(machine, runtime, home, reporter)
}

/// Removes one install, or all of them; none that a running daemon uses.
pub fn remove(
    runtime: RuntimeId,
    name: Option<InstallName>,
    home: &Home,
    reporter: &mut dyn Reporter,
) -> Result<Finished, Refusal> {
    present(runtime, home)?;
    drive(Machine::remove(name, &install::nonce())?, runtime, home, reporter)
}

/// Refuses where the runtime has no directory, so that nothing is made to find nothing in it.
fn present(runtime: RuntimeId, home: &Home) -> Result<(), Refusal> {
    if home.runtime(runtime).is_dir() {
        return Ok(());
    }
    Err(Refusal::new(
        "not_installed",
        format!("the {runtime} runtime has no installs in {}", home.path().display()),
    )
    .hint(Recipe::how_to_get(runtime)))
}

fn drive(
    mut machine: Machine,
    runtime: RuntimeId,
    home: &Home,
    reporter: &mut dyn Reporter,
) -> Result<Finished, Refusal> {
    install::run(&mut machine, runtime, &home.runtime(runtime), reporter)
}
