//! Models that are in the cache already, found without asking anybody.

use super::{Hub, missing, relative};
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::pull::{ModelId, Revision, cache, choose};
use superfluid_core::runtime::format::Format;

/// Most files of a snapshot that are looked at.
const MOST: usize = 100_000;

/// Where a model lies in the cache, or why it does not. Opens no connection and writes nothing.
pub fn cached(id: &ModelId, revision: &Revision, format: Format, hub: &Hub) -> Result<PathBuf, Refusal> {
    let not_there = |why: String| {
        Refusal::new("not_in_cache", format!("{id} is not in {}: {why}", hub.cache.display()))
            .hint(format!("superfluid pull {id} fetches it"))
    };
    let unreadable = |error: &std::io::Error, path: &Path| {
        Refusal::new("io", format!("cannot read {}: {error}", path.display()))
    };
    let commit = if cache::is_digest(revision.as_str()) {
        revision.as_str().to_string()
    } else {
        let path = hub.cache.join(cache::reference(id, revision));
        match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().to_string(),
            Err(error) if missing(&error) => return Err(not_there("it was never pulled".into())),
            Err(error) => return Err(unreadable(&error, &path)),
        }
    };
    if !cache::is_digest(&commit) {
        return Err(not_there(format!("its {} names no commit", revision.as_str())));
    }
    let snapshot = hub.cache.join(cache::snapshot(id, &commit));
    let mut paths = Vec::new();
    match walk(&snapshot, Path::new(""), &mut paths) {
        Ok(()) => {}
        Err(error) if missing(&error) => return Err(not_there("its files are gone".into())),
        Err(error) => return Err(unreadable(&error, &snapshot)),
    }
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let chosen = choose(id, format, &names).map_err(|refusal| not_there(refusal.message))?;
    Ok(if chosen.open.is_empty() { snapshot } else { snapshot.join(chosen.open) })
}

/// The files whose bytes are there: a link to nothing is none.
fn walk(root: &Path, below: &Path, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            walk(root, &path, paths)?;
        } else if entry.path().metadata().is_ok_and(|meta| meta.is_file()) && paths.len() < MOST {
            paths.extend(relative(&path).filter(|path| cache::is_plain(path)));
        }
    }
    paths.sort_unstable();
    Ok(())
}
