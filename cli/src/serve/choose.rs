//! From the command line to the models that are served: each with an id of its own and the runtime
//! that serves it.

use super::ServeArgs;
use super::prepare::Choice;
use super::sandbox::Allowed;
use crate::{print, pull};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::capability::{Record, validate_flags};
use superfluid_core::runtime::format::{Inspected, Verdict};
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

/// Refuses what cannot be served before anything is fetched, bound or started.
pub(super) fn all(args: &ServeArgs) -> Result<Vec<Choice>, Refusal> {
    let home = Home::from_env()?;
    let selectors = Selectors::parse(args.selectors.iter().map(String::as_str))?;
    let mut candidates = Vec::new();
    for (at, path) in args.named().enumerate() {
        let id = if at == 0 { args.model_id.clone() } else { None };
        candidates.push(named(args, path, id)?);
    }
    refuse_twins(&candidates)?;
    if let Some(dir) = &args.model_dir {
        let taken: BTreeSet<String> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
        candidates.extend(inside(dir, &selectors, &taken)?);
    }
    let names: Vec<&str> = candidates.iter().flat_map(Candidate::names).collect();
    selectors.check(&names)?;
    candidates.into_iter().map(|candidate| chosen(args, &home, &selectors, candidate)).collect()
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
/// path already.
fn inside(dir: &Path, selectors: &Selectors, taken: &BTreeSet<String>) -> Result<Vec<Candidate>, Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new("bad_model_dir", format!("cannot read the model directory {}: {error}", dir.display()))
            .hint("--model-dir takes a directory with model files and model directories in it")
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(cannot)?;
    paths.sort();
    let mut found: Vec<Candidate> = Vec::new();
    for path in paths {
        let Some(file) = path.file_name().and_then(|name| name.to_str()).map(String::from) else { continue };
        if file.starts_with('.') || is_later_part(&file) {
            continue;
        }
        let id = model_id(&file);
        let shown = print::plain(&path.display().to_string());
        let inspected = match lookup::inspect(&path) {
            Ok(inspected) => inspected,
            Err(refusal) => {
                print::note(&format!("warning: {shown} is left out: {}", refusal.message));
                continue;
            }
        };
        let text = path.to_str().map(String::from);
        let Some(text) = text else { continue };
        let candidate = Candidate { asked: text.clone(), path: text, file, id, inspected, at_start: false };
        let choice = selectors.choose(&candidate.names());
        if let Err(refusal) = pick(&choice, &Model::Path(candidate.inspected.clone())) {
            // Whatever else lies in the directory is nobody's concern.
            if matches!(candidate.inspected.verdict, Verdict::Model(_)) {
                print::note(&format!("warning: {shown} is left out: {}", refusal.message));
            }
            continue;
        }
        let twin = found.iter().any(|other| other.id == candidate.id) || taken.contains(&candidate.id);
        if twin {
            print::note(&format!("warning: {shown} is left out: '{}' is served already", candidate.id));
            continue;
        }
        found.push(candidate);
    }
    Ok(found)
}

/// A file's name without the suffix that says what it is.
fn model_id(file: &str) -> String {
    match file.len().checked_sub(5).and_then(|at| file.split_at_checked(at)) {
        Some((stem, suffix)) if suffix.eq_ignore_ascii_case(".gguf") && !stem.is_empty() => stem.into(),
        _ => file.into(),
    }
}

/// Whether it is a later part of a model in several files, `name-00002-of-00003.gguf`: the first one
/// stands for the model.
fn is_later_part(file: &str) -> bool {
    let Some(stem) = file.len().checked_sub(5).and_then(|at| file.get(..at)) else { return false };
    let mut parts = stem.rsplitn(4, '-');
    let (count, of, number) = (parts.next(), parts.next(), parts.next());
    let number = number.and_then(|number| number.parse::<u32>().ok());
    of == Some("of")
        && count.is_some_and(|count| count.parse::<u32>().is_ok())
        && number.is_some_and(|n| n > 1)
}
