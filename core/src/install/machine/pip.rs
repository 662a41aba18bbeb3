//! What came of pip's run, in words, each with what to do next.

use super::effect::Run;
use super::failure;
use super::verdict::not_started;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const NO_MATCH: &str = "No matching distribution found for ";
const WRONG_HASH: &str = "DO NOT MATCH THE HASHES";
const NO_NETWORK: [&str; 5] =
    ["Retrying (Retry", "NewConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError"];
const NO_TRUST: [&str; 2] = ["CERTIFICATE_VERIFY_FAILED", "TLS CA certificate bundle"];

/// Whether every package is in its place.
pub(super) fn judge(run: &Run) -> Result<(), Refusal> {
    match run {
        Run::Exited { code: Some(0), .. } => Ok(()),
        Run::NotStarted(fault) => Err(not_started("python_failed", fault)),
        Run::TimedOut { stderr } => {
            Err(pip_failed(&format!("pip did not end in time and was stopped{}", failure::said(stderr))))
        }
        Run::Exited { signal: Some(signal), stderr, .. } => {
            let by = failure::signal(*signal);
            Err(pip_failed(&format!("pip was ended by {by}{}", failure::said(stderr))))
        }
        Run::Exited { code, stdout, stderr, .. } => Err(failed(*code, stdout, stderr)),
    }
}

fn failed(code: Option<i32>, stdout: &str, stderr: &str) -> Refusal {
    let line = |words: &[&str]| {
        // What pip takes for a detail, such as why it passes an address over, it says on stdout.
        let mut lines = stderr.lines().chain(stdout.lines());
        lines.find(|line| words.iter().any(|word| line.contains(word)))
    };
    if stderr.contains(WRONG_HASH) {
        return wrong_hash(stderr);
    }
    if let Some(line) = line(&NO_TRUST) {
        return Refusal::new(
            "certificate_not_trusted",
            format!("the package index's certificate is not trusted{}", failure::said(line)),
        )
        .hint("if a proxy of your own inspects TLS, name its certificate authority with PIP_CERT or SSL_CERT_FILE");
    }
    if let Some(line) = line(&["No space left on device", "Disk quota exceeded"]) {
        return Refusal::new(
            "no_space",
            format!("pip found no space for the packages{}", failure::said(line)),
        )
        .hint("free some space, or set SUPERFLUID_HOME to a folder on a larger disk");
    }
    if let Some(line) = line(&NO_NETWORK) {
        return Refusal::new("network", format!("pip cannot reach the package index{}", failure::said(line)))
            .hint("check the connection, HTTPS_PROXY and PIP_PROXY")
            .hint("or pass --from with another package index, or with a folder of the wheels");
    }
    if let Some((_, wanted)) = stderr.lines().find_map(|line| line.split_once(NO_MATCH)) {
        let wanted = failure::said(wanted.split(" (from ").next().unwrap_or_default());
        return Refusal::new(
            "no_package",
            format!("the package index gives no wheel for this machine{wanted}"),
        )
        .hint("a package index of your own (--from) needs every wheel that --dry-run lists")
        .hint("check the connection, HTTPS_PROXY and PIP_PROXY, and that macOS is 14 or later");
    }
    let code = code.map_or_else(String::new, |code| format!(" with exit status {code}"));
    pip_failed(&format!("pip ended{code}{}", failure::said(stderr)))
}

/// pip names the package, the expected and the actual digest on the lines after its warning.
fn wrong_hash(stderr: &str) -> Refusal {
    let after = stderr.lines().skip_while(|line| !line.contains(WRONG_HASH)).skip(1);
    let lines: Vec<&str> = after.map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    Refusal::new(
        "wrong_sha256",
        format!("a package is not the one that was pinned{}", failure::said(&words.join(" "))),
    )
    .hint("nothing was installed; the package index, or something on the way from it, gives another file")
}

fn pip_failed(message: &str) -> Refusal {
    Refusal::new("pip_failed", message).hint("nothing was installed; what pip says last names the package")
}
