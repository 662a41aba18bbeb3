//! `cargo verify`: everything a change must pass, stage by stage, ending at the first failure.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use superfluid_tests::{daemon::Binaries, gate, repository};

const ABOUT: &str = "\
cargo verify: everything a change must pass

usage: cargo verify

Runs, ending at the first failure: formatting, lints, docs, the gate, a build of the binaries, and
every test. The tests fetch a small model, a llama.cpp build and the openai client once, into .cache;
SUPERFLUID_TEST_OFFLINE=1 leaves out what needs a thing that is not there.";

/// What a stage ends with: nothing, or what went wrong.
type Outcome = Result<(), String>;

/// Its name, and what it does.
type Stage = (&'static str, fn() -> Outcome);

fn main() -> ExitCode {
    if let Some(argument) = std::env::args().nth(1) {
        let asked = matches!(argument.as_str(), "-h" | "--help");
        if !asked {
            eprintln!("cargo verify takes no arguments, and was given {argument}\n");
        }
        eprintln!("{ABOUT}");
        return if asked { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let stages: [Stage; 7] = [
        ("formatting", || cargo(&["fmt", "--all", "--check"], &[])),
        ("gate: sources", || faults(&gate::check_sources(repository()))),
        ("gate: imports", || faults(&gate::foreign_imports(repository()))),
        ("lints", || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])),
        ("docs", || cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])),
        ("gate: core without std", || faults(&gate::core_reaches_std(repository()))),
        ("tests", tests),
    ];
    let began = Instant::now();
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for (name, stage) in stages {
        eprintln!("\n=== {name}");
        let started = Instant::now();
        let outcome = stage();
        done.push((name, started.elapsed()));
        if let Err(wrong) = outcome {
            eprintln!("{wrong}");
            summary(&done, Some(name), began.elapsed());
            return ExitCode::FAILURE;
        }
        eprintln!("=== {name}: ok, {}", seconds(started.elapsed()));
    }
    summary(&done, None, began.elapsed());
    ExitCode::SUCCESS
}

/// Every test of the workspace. The binaries they run are built first, together with the tests, so
/// that both are made of the same parts and nothing is compiled twice.
fn tests() -> Outcome {
    cargo(&["build", "--workspace", "--bins", "--tests"], &[])?;
    let binaries = Binaries::beside_this_program()?;
    let folder = binaries.path("superfluid");
    let folder = folder.parent().expect("it lies in a folder").display().to_string();
    let variables = [("SUPERFLUID_TEST_BINARIES", folder.as_str())];
    let nextest = Command::new(cargo_path())
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if nextest.is_ok_and(|status| status.success()) {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"], &variables)?;
        return cargo(&["test", "--quiet", "--workspace", "--doc"], &variables);
    }
    cargo(&["test", "--workspace", "--no-fail-fast"], &variables)
}

fn faults(faults: &[gate::Fault]) -> Outcome {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut cargo = Command::new(cargo_path());
    cargo.args(arguments).envs(variables.iter().copied()).current_dir(repository()).stdin(Stdio::null());
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {} failed ({status})", arguments.join(" "))),
        Err(e) => Err(format!("cannot run cargo: {e}")),
    }
}

fn summary(done: &[(&str, Duration)], failed: Option<&str>, took: Duration) {
    eprintln!("\n=== verify");
    for (name, time) in done {
        let mark = if failed == Some(name) { "FAILED" } else { "ok" };
        eprintln!("{mark:>8}  {:>8}  {name}", seconds(*time));
    }
    match failed {
        None => eprintln!("verify passed in {}", seconds(took)),
        Some(name) => eprintln!("verify failed at {name} after {}", seconds(took)),
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        whole => format!("{}:{:02} min", whole / 60, whole % 60),
    }
}
