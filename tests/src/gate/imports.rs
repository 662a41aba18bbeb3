//! Which package may depend on which, as the house's plan has it.

use super::{Fault, Source, code_of};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Folder, package, and the packages of this repository it may depend on. Arrows point down only.
const HOUSE: &[(&str, &str, &[&str])] = &[
    ("core", "superfluid-core", &[]),
    ("io-blocking", "superfluid-io-blocking", &["superfluid-core"]),
    ("io-tokio", "superfluid-io-tokio", &["superfluid-core", "superfluid-io-blocking"]),
    ("workers/kit", "superfluid-worker-kit", &["superfluid-core"]),
    ("workers/mock", "superfluid-worker-mock", WORKER),
    ("workers/llamacpp", "superfluid-worker-llamacpp", WORKER),
    ("workers/mlx", "superfluid-worker-mlx", WORKER),
    ("workers/basert", "superfluid-worker-basert", WORKER),
    ("cli", "superfluid", CLI),
    ("tests", "superfluid-tests", TESTS),
    ("fuzz", "superfluid-fuzz", &["superfluid-core", "superfluid-tests"]),
];

const WORKER: &[&str] = &["superfluid-core", "superfluid-worker-kit"];

const CLI: &[&str] = &[
    "superfluid-core",
    "superfluid-io-blocking",
    "superfluid-io-tokio",
    "superfluid-worker-kit",
    "superfluid-worker-mock",
    "superfluid-worker-llamacpp",
    "superfluid-worker-mlx",
    "superfluid-worker-basert",
];

const TESTS: &[&str] = &[
    "superfluid",
    "superfluid-core",
    "superfluid-io-blocking",
    "superfluid-io-tokio",
    "superfluid-worker-kit",
    "superfluid-worker-mock",
    "superfluid-worker-llamacpp",
    "superfluid-worker-mlx",
    "superfluid-worker-basert",
];

/// Dependencies between this repository's packages that the house does not allow, of any kind.
pub fn foreign_imports(repository: &Path) -> Vec<Fault> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version=1", "--offline"]).current_dir(repository);
    let metadata: Value = match command.output() {
        Ok(output) if output.status.success() => serde_json::from_slice(&output.stdout).unwrap_or_default(),
        Ok(output) => return vec![format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr))],
        Err(e) => return vec![format!("cannot run cargo metadata: {e}")],
    };
    let Some(packages) = metadata["packages"].as_array().filter(|packages| !packages.is_empty()) else {
        return vec!["cargo metadata names no package".into()];
    };
    packages.iter().flat_map(check_package).collect()
}

/// What is wrong with one package of `cargo metadata`.
fn check_package(package: &Value) -> Vec<Fault> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, _, allowed)) = HOUSE.iter().find(|(_, known, _)| *known == name) else {
        return vec![format!("{name}: has no place in the house (tests/src/gate/imports.rs)")];
    };
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    let named = dependencies.iter().filter_map(|dependency| dependency["name"].as_str());
    let ours = named.filter(|name| name.split('-').next() == Some("superfluid"));
    ours.filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("{name}: may not depend on {dependency}"))
        .collect()
}

/// Crates of this repository named in the code of a package that may not depend on them.
pub fn foreign_names(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".rs")) {
        let home = HOUSE.iter().find(|(folder, ..)| source.path.starts_with(&format!("{folder}/")));
        let Some((_, package, allowed)) = home else {
            faults.push(format!("{}: lies in no package of the house", source.path));
            continue;
        };
        let code = code_of(&source.text);
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let crates = words.filter(|word| word.starts_with("superfluid_")).map(|word| word.replace('_', "-"));
        let known = crates.filter(|word| HOUSE.iter().any(|(_, known, _)| known == word));
        let mut foreign: Vec<String> =
            known.filter(|word| word != package && !allowed.contains(&word.as_str())).collect();
        foreign.sort();
        foreign.dedup();
        faults.extend(foreign.iter().map(|word| format!("{}: may not import {word}", source.path)));
    }
    faults
}
