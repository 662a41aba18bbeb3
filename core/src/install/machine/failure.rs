//! The world's failures in words, each with what to do next.

use super::effect::{Action, Fault, FaultKind, Outcome};
use super::names;
use crate::install::{Plan, Source};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;

/// A fault by its kind alone.
pub(super) fn explain(fault: &Fault) -> Refusal {
    let (code, hint) = match fault.kind {
        FaultKind::NoSpace => {
            ("no_space", "free some space, or set SUPERFLUID_HOME to a folder on a larger disk")
        }
        FaultKind::Permission => {
            ("not_permitted", "change its permissions, or set SUPERFLUID_HOME to a folder of your own")
        }
        FaultKind::ReadOnly => ("read_only", "set SUPERFLUID_HOME to a folder on a writable file system"),
        FaultKind::NoExec => {
            ("no_exec", "set SUPERFLUID_HOME to a folder on a file system that is mounted without noexec")
        }
        FaultKind::NotFound => ("not_found", "check the path"),
        FaultKind::Folder => ("folder_in_the_way", "move that folder away; superfluid puts its own there"),
        FaultKind::NotFolder => {
            ("not_a_folder", "set SUPERFLUID_HOME to a folder, or to where one can be made")
        }
        FaultKind::Unsupported => {
            ("unsupported_filesystem", "set SUPERFLUID_HOME to a folder on a local disk")
        }
        FaultKind::Certificate => (
            "certificate_not_trusted",
            "if a proxy of your own inspects TLS, name its certificate authority with SSL_CERT_FILE",
        ),
        FaultKind::Status(_) => ("http_status", "check the version and the address"),
        FaultKind::Network => (
            "network",
            "check the connection and HTTPS_PROXY, or fetch the archive yourself and pass it with --from",
        ),
        FaultKind::NotHttps => ("not_https", "archives are fetched over https only, on every hop"),
        FaultKind::Redirects => ("redirects", "check the address"),
        FaultKind::TooLarge => {
            ("too_large", "the archive is not the one that was planned; get it from its own project")
        }
        FaultKind::Archive => {
            ("bad_archive", "nothing was placed; get the archive again from its own project")
        }
        FaultKind::Other => return Refusal::new("io", fault.message.clone()),
    };
    Refusal::new(code, fault.message.clone()).hint(hint)
}

/// The lock could not be taken.
pub(super) fn lock(fault: &Fault) -> Refusal {
    match fault.kind {
        FaultKind::Unsupported => Refusal::new("no_lock", fault.message.clone())
            .hint("the file system of this folder has no file locks, so two installs could not be kept apart")
            .hint("set SUPERFLUID_HOME to a folder on a local disk"),
        _ => explain(fault),
    }
}

/// A fetch failed: which file of which release, and from where.
pub(super) fn fetch(plan: &Plan, name: &str, source: &Source, fault: &Fault) -> Refusal {
    let mut refusal = explain(fault);
    if let Source::File { path } = source
        && fault.kind == FaultKind::TooLarge
    {
        refusal.message = format!("{path} is not the archive that was planned: {}", fault.message);
    }
    let hint = match (source, fault.kind) {
        (Source::File { .. }, FaultKind::Folder | FaultKind::NotFolder) => {
            "pass the path of the archive itself"
        }
        (Source::File { .. }, FaultKind::Permission) => "pass the path of an archive that you may read",
        (Source::Url { .. }, FaultKind::Status(404)) => {
            "this release has no such file; try another --version or --backend"
        }
        _ => "",
    };
    if !hint.is_empty() {
        refusal.hints = alloc::vec![hint.into()];
    }
    if let Source::Url { url } = source {
        refusal.message = format!(
            "cannot fetch {name} of {} {} ({}) from {url}: {}",
            plan.runtime, plan.version, plan.backend, fault.message
        );
    }
    refusal
}

/// An asset's digest is not the expected one.
pub(super) fn digest(name: &str, expected: &str, got: &str) -> Refusal {
    Refusal::new(
        "wrong_sha256",
        format!("{name} has another SHA-256 than expected: expected {expected}, got {got}"),
    )
    .hint("nothing was unpacked; the archive was changed or cut short on its way, so fetch it again")
    .hint("if it is another archive on purpose, install it with --from and its own digest in --sha256")
}

/// An asset's size is not the expected one.
pub(super) fn size(name: &str, expected: u64, got: u64) -> Refusal {
    Refusal::new("wrong_size", format!("{name} has {got} bytes, expected {expected}"))
        .hint("nothing was unpacked; the archive was cut short or changed on its way, so fetch it again")
}

/// No worker came with the archive and none lies beside superfluid.
pub(super) fn no_worker(runtime: &str, worker: &str) -> Refusal {
    adapter_hint(
        runtime,
        Refusal::new(
            "no_adapter",
            format!("the archive has no {worker}, and no adapter lies beside superfluid"),
        ),
    )
}

/// A runtime's worker comes with superfluid alone, and this one has none.
pub(super) fn no_adapter(runtime: &str) -> Refusal {
    let message = format!(
        "no adapter for {runtime} lies beside superfluid, and an install of {runtime} is of no use without one"
    );
    adapter_hint(runtime, Refusal::new("no_adapter", message))
}

fn adapter_hint(runtime: &str, refusal: Refusal) -> Refusal {
    refusal.hint(format!(
        "put superfluid-worker-{runtime} beside the superfluid binary, or in libexec/superfluid"
    ))
}

/// No plan stands.
pub(super) fn no_device(tried: &[(String, String)]) -> Refusal {
    let lines: alloc::vec::Vec<String> = tried.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    let refusal = Refusal::new("no_device", lines.join("; "));
    if let [_] = tried {
        return refusal.hint("install without --backend to let the machine's own devices decide");
    }
    refusal.hint("superfluid runtime install <id> --dry-run shows what was considered")
}

/// Given up on request.
pub(super) fn cancelled() -> Refusal {
    Refusal::new("cancelled", "given up on request; nothing was changed")
}

/// Something temporary could not be removed; a later run will sweep it.
pub(super) fn leftover(fault: &Fault) -> Refusal {
    Refusal::new("leftover", format!("something was left behind: {}", fault.message))
        .hint("the next install or removal of this runtime tries again")
}

/// An answer nobody expects there.
pub(super) fn unexpected(action: &Action, outcome: &Outcome) -> Refusal {
    match (action, outcome) {
        (_, Outcome::Failed(fault)) => explain(fault),
        (action, _) => Refusal::new("io", format!("an unexpected answer to {action:?}")),
    }
}

/// A name for staging that might leave its place.
pub(super) fn nonce(nonce: &str) -> Result<(), Refusal> {
    if names::is_nonce(nonce) {
        return Ok(());
    }
    Err(Refusal::new("bad_nonce", format!("{nonce:?} cannot be part of a file name")))
}

/// What a program said last, for the end of a message.
pub(super) fn said(stderr: &str) -> String {
    let lines: alloc::vec::Vec<&str> = last_words(stderr).0.iter().map(|line| line.trim()).collect();
    let shown: String =
        lines[lines.len().saturating_sub(4)..].join(" | ").chars().take(600).flat_map(plain).collect();
    if shown.is_empty() { String::new() } else { format!(": {shown}") }
}

/// What a worker of ours advised: the indented lines below its reason.
pub(super) fn advised(stderr: &str) -> alloc::vec::Vec<String> {
    let (_, advice) = last_words(stderr);
    advice.iter().take(4).map(|line| line.trim().chars().take(300).flat_map(plain).collect()).collect()
}

/// The lines of a program's stderr, and apart from them the indented ones at its end.
fn last_words(stderr: &str) -> (alloc::vec::Vec<&str>, alloc::vec::Vec<&str>) {
    let mut lines: alloc::vec::Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let reason = lines.iter().rposition(|line| !line.starts_with("  "));
    let advice = reason.map_or_else(alloc::vec::Vec::new, |reason| lines.split_off(reason + 1));
    (lines, advice)
}

/// Printable as it is, else escaped: what a program says must not steer a terminal.
fn plain(c: char) -> alloc::vec::Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { alloc::vec![c] }
}

/// A signal by name.
pub(super) fn signal(number: i32) -> String {
    let name = match number {
        4 => "SIGILL (an instruction this processor does not have)",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL (perhaps out of memory)",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    name.into()
}
