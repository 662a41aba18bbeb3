//! `superfluid runtimes <model>`: which runtime and which worker would serve it.

use super::state::Worker;
use super::{LINKED, to_json};
use crate::print::plain;
use serde::Serialize;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::runtime::format::hub_id;
use superfluid_core::runtime::{Model, Pick, Selectors, pick, resolve};
use superfluid_io_blocking::{Home, lookup};

#[derive(Serialize)]
struct Decision {
    model: String,
    /// What it is, where it was looked at.
    format: Option<String>,
    #[serde(flatten)]
    pick: Pick,
    #[serde(flatten)]
    worker: Worker,
}

/// The decision for a model.
pub(super) fn show(model: &str, selectors: &[String], json: bool, home: &Home) -> Result<String, Refusal> {
    let selectors = Selectors::parse(selectors.iter().map(String::as_str))?;
    let path = Path::new(model);
    let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or(model);
    let names = [model, file_name];
    selectors.check(&names)?;
    let inspected =
        if path.symlink_metadata().is_err() && hub_id(model) { None } else { Some(lookup::inspect(path)?) };
    let format = inspected.as_ref().map(|inspected| inspected.what().to_string());
    let looked_at = inspected.map_or_else(|| Model::Id(model.into()), Model::Path);
    let pick = pick(&selectors.choose(&names), &looked_at)?;
    let facts = lookup::resolve_facts(pick.runtime, &LINKED, home)?;
    let worker = Worker::of(resolve(pick.runtime, pick.install.as_ref(), &facts));
    let decision = Decision { model: model.into(), format, pick, worker };
    if json {
        return Ok(to_json(&decision));
    }
    let Decision { model, format, pick, worker } = decision;
    let format = format.map_or_else(String::new, |format| format!(" ({format})"));
    let lines = [
        format!("model:   {model}{format}"),
        format!("runtime: {} ({})", pick.runtime, pick.reason),
        format!("worker:  {}", worker.words()),
    ];
    Ok(lines.map(|line| plain(&line) + "\n").concat())
}
