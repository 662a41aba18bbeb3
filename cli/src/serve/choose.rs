//! From the command line to the models that are served: each with an id of its own and the runtime
//! that serves it.

use super::ServeArgs;
use super::prepare::Choice;
use super::sandbox::Allowed;
use crate::pull;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::capability::{Record, validate_flags};
use superfluid_core::runtime::format::{Inspected, Verdict, model_name, split_names};
use superfluid_core::runtime::{Model, Selectors, pick};
use superfluid_core::wire::LoadSpec;
use superfluid_io_blocking::{Home, lookup};

/// A model that was found.
struct Candidate {
    /// As it was asked for.
    asked: String,
    path: String,
    file: String,
    id: String,
    inspected: Inspected,
    at_start: bool,
}

impl Candidate {
    fn names(&self) -> [&str; 4] {
        // What follows a hub id's colon says which of its files.
        let repo = self.asked.split_once(':').map_or(self.asked.as_str(), |(repo, _)| repo);
        [&self.asked, repo, &self.file, &self.id]
    }
}

/// Refuses what cannot be served before anything is fetched, bound or started. Also comes back with what
/// was left out, and why, in lines.
pub(super) fn all(args: &ServeArgs) -> Result<(Vec<Choice>, Vec<String>), Refusal> {
    let home = Home::from_env()?;
    let selectors = Selectors::parse(args.selectors.iter().map(String::as_str))?;
    let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
    for (at, path) in args.named().enumerate() {
        let id = if at == 0 { args.model_id.clone() } else { None };
        candidates.push(named(args, path, id)?);
    }
    refuse_twins(&candidates)?;
    if let Some(dir) = &args.model_dir {
        let taken: BTreeSet<String> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
        candidates.extend(inside(dir, &selectors, &taken, &mut left_out)?);
    }
    let names: Vec<&str> = candidates.iter().flat_map(Candidate::names).collect();
    selectors.check(&names)?;
    let choices = candidates.into_iter().map(|candidate| chosen(args, &home, &selectors, candidate));
    Ok((choices.collect::<Result<_, _>>()?, left_out))
}

fn chosen(
    args: &ServeArgs,
    home: &Home,
    selectors: &Selectors,
    candidate: Candidate,
) -> Result<Choice, Refusal> {
    let choice = selectors.choose(&candidate.names());
    let Candidate { path, id, inspected, at_start, .. } = candidate;
    let what = inspected.what().to_string();
    let pick = pick(&choice, &Model::Path(inspected))?;
    let flags = args.flags();
    validate_flags(&Record::foretold(pick.runtime), &flags)?;
    let (max_batch, max_context, class_lanes) = (args.max_batch, args.max_context, args.class_lanes);
    let spec = LoadSpec { model: path, max_batch, max_context, class_lanes, flags };
    let allowed = Allowed::by(args)?;
    let (home, basert_lib) = (home.clone(), args.basert_lib.clone());
    Ok(Choice { home, id, what, pick, offline: args.offline, at_start, allowed, basert_lib, spec })
}

/// A model that was asked for by its path, or by its id in the hub.
fn named(args: &ServeArgs, path: &Path, id: Option<String>) -> Result<Candidate, Refusal> {
    let asked = path.to_str().map(String::from).ok_or_else(|| {
        let message = format!("the path {path:?} is not UTF-8");
        Refusal::new("bad_model_path", message).hint("rename the model, or link to it under another name")
    })?;
    let mut path = asked.clone();
    let mut file = Path::new(&asked).file_name().and_then(|name| name.to_str()).unwrap_or(&asked).to_string();
    if pull::by_id(&asked) {
        let local = pull::locate(&asked, &args.selectors, args.offline || args.check)?;
        (path, file) = (local.path.to_string_lossy().into_owned(), local.name);
    }
    let inspected = lookup::inspect(Path::new(&path))?;
    let id = id.unwrap_or_else(|| model_id(&file));
    Ok(Candidate { asked, path, file, id, inspected, at_start: true })
}

fn refuse_twins(candidates: &[Candidate]) -> Result<(), Refusal> {
    for (at, candidate) in candidates.iter().enumerate() {
        if let Some(twin) = candidates[..at].iter().find(|twin| twin.id == candidate.id) {
            let message = format!(
                "{} and {} would both be called '{}' in the API",
                twin.path, candidate.path, candidate.id
            );
            return Err(Refusal::new("bad_model_id", message).hint(
                "rename one of them, link to it under another name, or name the first with --model-id",
            ));
        }
    }
    Ok(())
}

/// The models in a directory, by name; what is none is left out, and so is what was asked for by its
/// path already. What looks like a model and is left out gets a line.
fn inside(
    dir: &Path,
    selectors: &Selectors,
    taken: &BTreeSet<String>,
    left_out: &mut Vec<String>,
) -> Result<Vec<Candidate>, Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new("bad_model_dir", format!("cannot read the model directory {}: {error}", dir.display()))
            .hint("--model-dir takes a directory with model files and model directories in it")
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(cannot)?;
    paths.sort();
    let mut found: Vec<Candidate> = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match look(path, &name, &paths, selectors) {
            Look::Served(candidate) => {
                let twin =
                    found.iter().any(|other| other.id == candidate.id) || taken.contains(&candidate.id);
                if twin {
                    let why = format!("'{}' is served already", candidate.id);
                    left_out.push(format!("warning: {name} is left out: {why}"));
                } else {
                    found.push(*candidate);
                }
            }
            Look::LeftOut(why) => left_out.push(format!("warning: {name} is left out: {why}")),
            Look::Other => {}
        }
    }
    Ok(found)
}

/// What becomes of one thing in a directory of models.
enum Look {
    Served(Box<Candidate>),
    /// It looks like a model.
    LeftOut(String),
    /// Nobody's concern.
    Other,
}

fn look(path: &Path, name: &str, beside: &[PathBuf], selectors: &Selectors) -> Look {
    let Some(text) = path.to_str().map(String::from) else {
        return if model_name(name) { Look::LeftOut("its name is not UTF-8".into()) } else { Look::Other };
    };
    if let Some(first) = first_part(name) {
        let there = beside.iter().any(|other| other.file_name().is_some_and(|other| other == &*first));
        return if there {
            Look::Other
        } else {
            Look::LeftOut(format!("its first part, {first}, is not there"))
        };
    }
    let inspected = match lookup::inspect(path) {
        Ok(inspected) => inspected,
        Err(refusal) => return Look::LeftOut(refusal.message),
    };
    let (file, id) = (name.to_string(), model_id(name));
    let candidate = Candidate { asked: text.clone(), path: text, file, id, inspected, at_start: false };
    match pick(&selectors.choose(&candidate.names()), &Model::Path(candidate.inspected.clone())) {
        Ok(_) => Look::Served(Box::new(candidate)),
        Err(refusal) => match candidate.inspected.verdict {
            Verdict::Foreign { what, .. } if model_name(name) => Look::LeftOut(format!("it is {what}")),
            Verdict::Foreign { .. } => Look::Other,
            Verdict::Model(_) => Look::LeftOut(refusal.message),
        },
    }
}

/// A file's name without the suffix that says what it is.
fn model_id(file: &str) -> String {
    match file.len().checked_sub(5).and_then(|at| file.split_at_checked(at)) {
        Some((stem, suffix)) if suffix.eq_ignore_ascii_case(".gguf") && !stem.is_empty() => stem.into(),
        _ => file.into(),
    }
}

/// For a later part of a model in several files, `name-00002-of-00003.gguf`, the name of the first: that
/// one stands for the model.
fn first_part(file: &str) -> Option<String> {
    let count = file.rsplit_once("-of-")?.1.split('.').next()?.parse().ok()?;
    let names = split_names(file, count)?;
    names.first().filter(|first| *first != file).cloned()
}
