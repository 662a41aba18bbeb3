//! `superfluid runtime update` and `superfluid runtime repair`.

use super::{Progress, default_words, dry_run, runtime_id, to_json};
use clap::Args;
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Finished, Purpose};
use superfluid_core::install::renew::Update;
use superfluid_core::install::{InstallName, Planning, Recipe};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::{Home, request};

/// What `superfluid runtime update` takes.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// llamacpp, mlx, basert
    #[arg(value_name = "ID", value_parser = runtime_id)]
    runtime: RuntimeId,
    #[command(flatten)]
    show: Show,
}

/// What `superfluid runtime repair` takes.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// llamacpp, mlx, basert
    #[arg(value_name = "ID", value_parser = runtime_id)]
    runtime: RuntimeId,
    /// The install to repair; without it, the default one
    #[arg(value_parser = super::install_name)]
    install: Option<InstallName>,
    #[command(flatten)]
    show: Show,
}

#[derive(Clone, Copy, Debug, Args)]
struct Show {
    /// Print the plan, fetch nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn update(args: &UpdateArgs) -> Result<String, Refusal> {
    let UpdateArgs { runtime, show } = *args;
    let home = Home::from_env()?;
    let (planning, old) = match request::update(&Recipe::of(runtime)?, &home)? {
        Update::Newer { default, planning } => (planning, default),
        newest @ Update::Newest { .. } if show.json => return Ok(to_json(&newest)),
        Update::Newest { default, tested } => {
            return Ok(format!(
                "nothing to update: {runtime} {default} is the default, and the tested version is {tested}\n"
            ));
        }
    };
    carry_out(runtime, planning, Purpose::Update, show, &home, |finished, new| {
        let moved = if finished.pinned { ", which is pinned now" } else { "" };
        format!("updated: {runtime} {new} is the default in place of {old}{moved}; {old} is kept\n")
    })
}

pub(super) fn repair(args: &RepairArgs) -> Result<String, Refusal> {
    let RepairArgs { runtime, install, show } = args;
    let home = Home::from_env()?;
    let planning = request::repair(&Recipe::of(*runtime)?, install.as_ref(), &home)?;
    carry_out(*runtime, planning, Purpose::Repair, *show, &home, |finished, name| {
        format!("repaired: {runtime} {name}{}\n", default_words(finished))
    })
}

fn carry_out(
    runtime: RuntimeId,
    planning: Planning,
    purpose: Purpose,
    show: Show,
    home: &Home,
    words: impl FnOnce(&Finished, &InstallName) -> String,
) -> Result<String, Refusal> {
    if show.dry_run {
        return Ok(if show.json { to_json(&planning) } else { dry_run::text(runtime, &planning) });
    }
    let finished = request::install(runtime, planning, purpose, home, &mut Progress::interruptible())?;
    Ok(match &finished.installed {
        _ if show.json => to_json(&finished),
        Some(name) => words(&finished, name),
        None => String::new(),
    })
}
