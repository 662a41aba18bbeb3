//! What a library wants loaded before it, of what lies in its own folder.
//!
//! The loader looks into `LD_LIBRARY_PATH` before a library's own folder, so a stray ggml there
//! would be taken and would crash. A library that is already loaded is not looked for at all. So
//! each one's companions are loaded first, by absolute path, from its own folder.

use object::read::{Object, ReadCache};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The file's companions in load order, those they need included; `file` itself is not in it.
/// A companion that can't be read is left to the loader, which says what is wrong with it.
pub(crate) fn companions(file: &Path) -> Vec<PathBuf> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    if let Some(folder) = file.parent() {
        visit(file, folder, &mut seen, &mut order);
    }
    order.pop();
    order
}

/// Depth first, each file after what it needs.
fn visit(file: &Path, folder: &Path, seen: &mut BTreeSet<PathBuf>, order: &mut Vec<PathBuf>) {
    if !seen.insert(file.to_path_buf()) {
        return;
    }
    for name in needed(file) {
        let companion = folder.join(name);
        if companion.is_file() {
            visit(&companion, folder, seen, order);
        }
    }
    order.push(file.to_path_buf());
}

/// Names of the libraries the file asks for; empty where it can't be read as a library.
fn needed(file: &Path) -> Vec<String> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return Vec::new() };
    let Ok(libraries) = object.import_libraries() else { return Vec::new() };
    libraries
        .filter_map(Result::ok)
        .filter_map(|library| {
            let name = std::str::from_utf8(library.name()).ok()?;
            // macOS writes @rpath/libggml.0.dylib.
            Some(name.rsplit('/').next()?.to_owned())
        })
        .collect()
}
