//! Words for people: data on stdout, everything else on stderr.

use crate::interrupt::INTERRUPTED;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use superfluid_core::Refusal;

/// The exit code of a command line that cannot be meant.
const USAGE: u8 = 2;

/// Refusals of what was typed, not of what was found.
const TYPED: [&str; 16] = [
    "bad_log_level",
    "bad_api_key",
    "bad_config",
    "bad_allow_host",
    "bad_cors_origin",
    "bad_host",
    "bad_version",
    "bad_backend",
    "bad_sha256",
    "bad_install_name",
    "bad_selector",
    "bad_model_id",
    "bad_revision",
    "bad_endpoint",
    "no_such_runtime",
    "sha256_without_from",
];

/// Prints a refusal and its hints; the exit code it makes.
pub(crate) fn refusal(refusal: &Refusal) -> ExitCode {
    told("error", refusal);
    if refusal.code == "cancelled" {
        return ExitCode::from(INTERRUPTED);
    }
    if TYPED.contains(&refusal.code.as_str()) { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

/// Prints something that is not as it should be.
pub(crate) fn warning(refusal: &Refusal) {
    told("warning", refusal);
}

/// Prints a line on stderr.
pub(crate) fn note(line: &str) {
    // With nobody to read it there is nothing to do about it.
    let _ = writeln!(std::io::stderr(), "{}", plain(line));
}

/// Prints data on stdout. A reader who went away wanted no more of it.
pub(crate) fn data(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            note(&format!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn told(kind: &str, refusal: &Refusal) {
    note(&format!("{kind}: {}", refusal.message));
    for hint in &refusal.hints {
        note(&format!("  hint: {hint}"));
    }
}

/// The text with control characters escaped, so that a file's name cannot steer a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut plain, c| {
        match c {
            c if c.is_control() => plain.extend(c.escape_default()),
            c => plain.push(c),
        }
        plain
    })
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::BinaryBytes(count).to_string()
}
