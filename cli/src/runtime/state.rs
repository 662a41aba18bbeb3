//! `superfluid runtimes`: what is installed, and which worker each runtime would start.

use super::{LINKED, to_json};
use crate::print::plain;
use serde::Serialize;
use std::fmt::Write;
use superfluid_core::Refusal;
use superfluid_core::install::{Lease, rank};
use superfluid_core::runtime::{Place, Resolution, Resolved, RuntimeId, resolve};
use superfluid_io_blocking::{Home, install, lookup};

/// One runtime's state.
#[derive(Serialize)]
struct State {
    id: RuntimeId,
    aliases: &'static [&'static str],
    serves: &'static str,
    installs: Vec<Install>,
    pinned: Option<String>,
    /// Which worker starts, or why none does.
    #[serde(flatten)]
    worker: Worker,
}

#[derive(Serialize)]
struct Install {
    name: String,
    version: Option<String>,
    backend: Option<String>,
    default: bool,
    /// Whether its manifest reads and its worker is there.
    whole: bool,
    /// Who uses it now.
    in_use_by: Vec<Lease>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Worker {
    /// It can start.
    Worker(Start),
    /// Why not, and what to do.
    NoWorker(Refusal),
}

#[derive(Serialize)]
pub(super) struct Start {
    program: String,
    place: Place,
    install: Option<String>,
}

impl Worker {
    pub(super) fn of(resolution: Result<Resolution, Refusal>) -> Self {
        match resolution {
            Ok(Resolution::Found(Resolved { program, place, install, .. })) => {
                Self::Worker(Start { program, place, install: install.map(String::from) })
            }
            Ok(Resolution::NotInstalled { refusal, .. }) | Err(refusal) => Self::NoWorker(refusal),
        }
    }

    /// On one line.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Worker(Start { program, place, install }) => {
                let place = match place {
                    Place::Variable => "named by its environment variable",
                    Place::Linked => "built in",
                    Place::Beside => "beside superfluid",
                    Place::Installed => "installed",
                };
                let with = install.as_ref().map_or_else(String::new, |name| format!(", {name}"));
                format!("{program} ({place}{with})")
            }
            Self::NoWorker(refusal) => match (refusal.code.as_str(), refusal.hints.first()) {
                ("not_installed", Some(hint)) => format!("not installed; {hint}"),
                (_, Some(hint)) => format!("none: {}; {hint}", refusal.message),
                (_, None) => format!("none: {}", refusal.message),
            },
        }
    }
}

/// Every runtime's state.
pub(super) fn show(json: bool, home: &Home) -> Result<String, Refusal> {
    let states = RuntimeId::ALL.into_iter().map(|id| state(id, home)).collect::<Result<Vec<_>, _>>()?;
    if json {
        return Ok(to_json(&states));
    }
    let mut text = String::new();
    for state in &states {
        let mut line = |line: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", plain(&line));
        };
        line(format!("{:<9} serves {}", state.id.to_string(), state.serves));
        line(format!("  worker: {}", state.worker.words()));
        if let Some(gone) = state.pinned.iter().find(|pin| state.installs.iter().all(|one| one.name != **pin))
        {
            line(format!(
                "  pinned: {gone}, which is not installed; superfluid runtime use {} --auto",
                state.id
            ));
        }
        for install in &state.installs {
            let mark = if install.default { '*' } else { ' ' };
            let pinned = state.pinned.as_deref() == Some(&install.name);
            let mut words = Vec::new();
            words.extend(install.default.then_some("default"));
            words.extend(pinned.then_some("pinned"));
            words.extend((!install.whole).then_some("not whole: install it again, or remove it"));
            let words = words.join(", ");
            line(format!("  {mark} {:<24} {words}", install.name).trim_end().into());
            for lease in &install.in_use_by {
                line(format!("      in use by {}", lease.holder()));
            }
        }
    }
    Ok(text)
}

fn state(id: RuntimeId, home: &Home) -> Result<State, Refusal> {
    let facts = lookup::resolve_facts(id, &LINKED, home)?;
    let default = resolve::default(&facts).map(|install| install.name.clone());
    let mut installs = facts.installs.clone();
    installs.sort_by(|a, b| rank::compare(&a.name, &b.name));
    let leases = install::look(id, &home.runtime(id))?.leases;
    let installs = installs.into_iter().map(|install| Install {
        in_use_by: leases.iter().filter(|lease| lease.keeps(&install.name)).cloned().collect(),
        default: Some(&install.name) == default.as_ref(),
        whole: install.manifest.is_some(),
        version: install.manifest.as_ref().map(|manifest| manifest.version.clone()),
        backend: install.manifest.as_ref().map(|manifest| manifest.backend.clone()),
        name: install.name.into(),
    });
    Ok(State {
        id,
        aliases: id.aliases(),
        serves: id.serves(),
        installs: installs.collect(),
        pinned: facts.pinned.clone().map(String::from),
        worker: Worker::of(resolve(id, None, &facts)),
    })
}
