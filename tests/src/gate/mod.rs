//! The laws of the house that neither compiler nor linter checks.
//!
//! Each check returns what it found, one line a fault, naming the file; none is good.

mod imports;
mod no_std;
mod source;

pub use imports::{foreign_imports, foreign_names};
pub use no_std::{core_reaches_std, reaches_std};
pub use source::{Source, code_of, sources};

use std::path::Path;

/// The longest a source file may be, in lines.
const LONGEST: usize = 600;

/// One fault: which file, and what is wrong with it.
pub type Fault = String;

/// Every check that reads the sources alone.
pub fn check_sources(repository: &Path) -> Vec<Fault> {
    let sources = match sources(repository) {
        Ok(sources) => sources,
        Err(e) => return vec![format!("cannot read the sources: {e}")],
    };
    let mut faults: Vec<Fault> = sources.iter().flat_map(check_source).collect();
    faults.extend(core_laws(&sources));
    faults.extend(foreign_names(&sources));
    faults
}

/// What one file may not hold.
pub fn check_source(source: &Source) -> Vec<Fault> {
    let path = &source.path;
    let mut faults = Vec::new();
    let lines = source.text.lines().count();
    if source.is_code() && lines > LONGEST {
        faults.push(format!("{path}: {lines} lines, {LONGEST} are the most; one file is one idea"));
    }
    if path.ends_with(".rs") {
        let code = code_of(&source.text);
        if has_word(&code, "unsafe") && !may_be_unsafe(path) {
            faults.push(format!("{path}: `unsafe` belongs under workers/*/src/ffi"));
        }
        faults.extend(never_run(&code, &source.text).map(|test| format!("{path}: ignores the test {test}")));
    }
    faults
}

/// Ignored tests, which prove nothing; save those that another test of the file runs by name in a
/// process of its own.
fn never_run<'a>(code: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let attributes = code.match_indices('#').filter(|(at, _)| {
        // Rust's attribute, however it is spaced.
        let packed: String = code[at + 1..].chars().filter(|c| !c.is_whitespace()).take(7).collect();
        packed == "[ignore"
    });
    let tests = attributes.map(|(at, _)| {
        let name = code[at..].split_once("fn ").map_or("", |(_, rest)| rest);
        name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    });
    tests.filter(|test| !(text.contains("--ignored") && text.contains(&format!("::{test}"))))
}

/// `workers/<id>/src/ffi.rs` or anything under `workers/<id>/src/ffi/`.
fn may_be_unsafe(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["workers", _, "src", "ffi.rs"] | ["workers", _, "src", "ffi", ..])
}

fn core_laws(sources: &[Source]) -> Vec<Fault> {
    let path = "core/src/lib.rs";
    let Some(lib) = sources.iter().find(|source| source.path == path) else {
        return vec![format!("{path}: is not there")];
    };
    let code = code_of(&lib.text);
    let laws = ["#![no_std]", "#![forbid(unsafe_code)]", "#![deny(missing_docs)]"];
    let missing = laws.iter().filter(|law| !code.contains(**law));
    missing.map(|law| format!("{path}: does not say {law}")).collect()
}

/// Whether `word` stands in `code` on its own.
fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(part) && !code[at + word.len()..].starts_with(part)
    })
}
