//! `superfluid runtimes` and `superfluid runtime …`.

mod decision;
mod dry_run;
mod progress;
mod renew;
mod state;
mod verify;

pub(crate) use progress::Progress;

use crate::print;
use clap::{Args, Subcommand};
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Finished, Purpose};
use superfluid_core::install::{InstallName, Request};
use superfluid_core::runtime::RuntimeId;
use superfluid_core::runtime::resolve::BASERT_LIB;
use superfluid_io_blocking::{Home, request};

/// The runtimes built into this build's `superfluid-workerd`.
pub(crate) const LINKED: [RuntimeId; 1] = [RuntimeId::Mock];

/// What `superfluid runtimes` takes.
#[derive(Debug, Args)]
pub(crate) struct RuntimesArgs {
    /// A model file, folder or id: show which runtime serves it, without serving
    model: Option<String>,
    /// Choose a runtime: ID, ID@INSTALL or MODEL=ID; repeatable, the later one wins
    #[arg(long = "runtime", value_name = "SELECTOR", requires = "model")]
    selectors: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `superfluid runtime …`
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeCommand {
    /// Plan, fetch, verify and place an install
    Install(InstallArgs),
    /// Install the newest tested build beside the default install, and make it the default
    Update(renew::UpdateArgs),
    /// Install the same version and backend again
    Repair(renew::RepairArgs),
    /// Say what changed on disk since an install was placed
    Verify(verify::VerifyArgs),
    /// Pin the default install, or return to ranking
    Use(UseArgs),
    /// Remove one install of a runtime, or all of them
    Remove(RemoveArgs),
}

/// What `superfluid runtime install` takes.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// llamacpp, mlx, basert
    #[arg(value_name = "ID", value_parser = runtime_id)]
    runtime: RuntimeId,
    /// Another version than the tested one; needs --untested
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Exactly this backend, without fallback: metal, cuda, rocm, vulkan, sycl, openvino, cpu
    #[arg(long, value_name = "B")]
    backend: Option<String>,
    /// Your own archive: a path or an https address; for mlx a package index or a folder of wheels
    #[arg(long, value_name = "ARCHIVE")]
    from: Option<String>,
    /// The archive's SHA-256
    #[arg(long, value_name = "H")]
    sha256: Option<String>,
    /// Allow a version that was not tested with this superfluid
    #[arg(long)]
    untested: bool,
    /// Print the plan, fetch nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `superfluid runtime use` takes.
#[derive(Debug, Args)]
pub(crate) struct UseArgs {
    /// llamacpp, mlx, basert
    #[arg(value_name = "ID", value_parser = runtime_id)]
    runtime: RuntimeId,
    /// The install to pin
    #[arg(value_parser = install_name, required_unless_present = "auto", conflicts_with = "auto")]
    install: Option<InstallName>,
    /// Unpin: the best-ranked install is the default again
    #[arg(long)]
    auto: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `superfluid runtime remove` takes.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// llamacpp, mlx, basert
    #[arg(value_name = "ID", value_parser = runtime_id)]
    runtime: RuntimeId,
    /// The install to remove; without it, all of them
    #[arg(value_parser = install_name)]
    install: Option<InstallName>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows every runtime's state, or the decision for a model.
pub(crate) fn show(args: &RuntimesArgs) -> ExitCode {
    let shown = Home::from_env().and_then(|home| match &args.model {
        Some(model) => decision::show(model, &args.selectors, args.json, &home),
        None => state::show(args.json, &home),
    });
    shown.map_or_else(|refusal| print::refusal(&refusal), |text| print::data(&text))
}

/// Carries out a `superfluid runtime` command.
pub(crate) fn run(command: RuntimeCommand) -> ExitCode {
    let done = match command {
        RuntimeCommand::Install(args) => install(args),
        RuntimeCommand::Update(args) => renew::update(&args),
        RuntimeCommand::Repair(args) => renew::repair(&args),
        RuntimeCommand::Verify(args) => return verify::run(&args),
        RuntimeCommand::Use(args) => select(args),
        RuntimeCommand::Remove(args) => remove(args),
    };
    done.map_or_else(|refusal| print::refusal(&refusal), |text| print::data(&text))
}

fn install(args: InstallArgs) -> Result<String, Refusal> {
    let InstallArgs { runtime, version, backend, from, sha256, untested, dry_run, json } = args;
    let home = Home::from_env()?;
    let asked = Request { runtime, version, backend, from, sha256, untested };
    let planning = request::plans(&asked)?;
    for warning in &planning.warnings {
        print::note(&format!("warning: {warning}"));
    }
    let named = std::env::var_os(BASERT_LIB).is_some_and(|value| !value.is_empty());
    if runtime == RuntimeId::Basert && named {
        print::note(&format!("warning: {BASERT_LIB} is set, and goes before any install"));
    }
    if dry_run {
        return Ok(if json { to_json(&planning) } else { dry_run::text(runtime, &planning) });
    }
    let finished =
        request::install(runtime, planning, Purpose::Install, &home, &mut Progress::interruptible())?;
    if json {
        return Ok(to_json(&finished));
    }
    let Some(name) = &finished.installed else { return Ok(String::new()) };
    let word = if finished.already { "already installed" } else { "installed" };
    Ok(format!("{word}: {runtime} {name}{}\n", default_words(&finished)))
}

/// What the default is, after a name that was just installed.
fn default_words(finished: &Finished) -> String {
    match &finished.current {
        Some(current) if finished.installed.as_ref() == Some(current) => ", the default".into(),
        Some(current) if finished.pinned => format!("; the default stays {current}, which is pinned"),
        Some(current) => format!("; the default is {current}"),
        None => String::new(),
    }
}

fn select(args: UseArgs) -> Result<String, Refusal> {
    let UseArgs { runtime, install, auto: _, json } = args;
    let finished = request::select(runtime, install, &Home::from_env()?, &mut Progress::interruptible())?;
    if json {
        return Ok(to_json(&finished));
    }
    Ok(match (&finished.current, finished.pinned) {
        (Some(current), true) => format!("{runtime} uses {current} (pinned)\n"),
        (Some(current), false) => format!("{runtime} uses {current}, the best-ranked install\n"),
        (None, _) => format!("{runtime} has no install to use\n"),
    })
}

fn remove(args: RemoveArgs) -> Result<String, Refusal> {
    let RemoveArgs { runtime, install, json } = args;
    let finished = request::remove(runtime, install, &Home::from_env()?, &mut Progress::interruptible())?;
    if json {
        return Ok(to_json(&finished));
    }
    let mut text: String =
        finished.removed.iter().map(|name| format!("removed: {runtime} {name}\n")).collect();
    if finished.removed.is_empty() {
        text = format!("{runtime} has no install to remove\n");
    }
    if let Some(current) = &finished.current {
        text.push_str(&format!("the default is {current}\n"));
    }
    Ok(text)
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string());
    text + "\n"
}

fn runtime_id(text: &str) -> Result<RuntimeId, String> {
    RuntimeId::parse(text).map_err(usage)
}

fn install_name(text: &str) -> Result<InstallName, String> {
    InstallName::new(text).map_err(usage)
}

/// A refusal on the one line a usage error has.
fn usage(refusal: Refusal) -> String {
    let Refusal { message, hints, .. } = refusal;
    match hints.first() {
        Some(hint) => format!("{message}; {hint}"),
        None => message,
    }
}
