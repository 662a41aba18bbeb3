//! Who uses an install: a small file beside the installs, locked for as long as its holder lives.
//!
//! The lock is what counts, and the system gives it up for a process however that ends. The file's
//! text only says whom it belongs to; one that nobody holds is a leftover.

use super::{InstallName, layout};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Longest text of a lease that is read.
pub const LEASE_MAX: u64 = 4 << 10;

/// What a lease says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The install that is used; `None` where the text could not be read.
    pub install: Option<InstallName>,
    /// The process that holds it.
    pub pid: u32,
    /// What that process does, for people: `superfluid serve, m.gguf`.
    pub what: String,
}

impl Lease {
    /// The file's text.
    pub fn to_text(&self) -> String {
        // Plain values always serialize.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Reads the text of a lease that is held. Held and unreadable is held all the same.
    pub fn parse(text: &str) -> Self {
        let unreadable = || Self { install: None, pid: 0, what: "another process".into() };
        serde_json::from_str(text).unwrap_or_else(|_| unreadable())
    }

    /// The name of its file, and the name it is made under: it is locked before it can be seen.
    pub fn files(nonce: &str) -> (String, String) {
        (format!("{}{nonce}", layout::LEASE), format!("{}lease-{nonce}", layout::NEW))
    }

    /// Its holder, for people. What it says comes from a file.
    pub fn holder(&self) -> String {
        let plain: String = self
            .what
            .chars()
            .take(300)
            .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { Vec::from([c]) })
            .collect();
        if self.pid == 0 { plain } else { format!("process {} ({plain})", self.pid) }
    }

    /// Whether it keeps this install from being removed.
    pub fn keeps(&self, name: &InstallName) -> bool {
        self.install.as_ref().is_none_or(|used| used == name)
    }
}

/// Refuses what would take an install from under those that use it.
pub(super) fn unused<'a>(
    doomed: impl IntoIterator<Item = &'a InstallName>,
    leases: &[Lease],
) -> Result<(), Refusal> {
    let mut used: Vec<(&InstallName, Vec<&Lease>)> = Vec::new();
    for name in doomed {
        let by: Vec<&Lease> = leases.iter().filter(|lease| lease.keeps(name)).collect();
        if !by.is_empty() {
            used.push((name, by));
        }
    }
    if used.is_empty() {
        return Ok(());
    }
    let one = |(name, by): &(&InstallName, Vec<&Lease>)| {
        let holders: Vec<String> = by.iter().map(|lease| lease.holder()).collect();
        format!("{name} is in use by {}", holders.join(" and "))
    };
    let message: Vec<String> = used.iter().map(one).collect();
    let mut pids: Vec<u32> =
        used.iter().flat_map(|(_, by)| by.iter().map(|lease| lease.pid)).filter(|pid| *pid != 0).collect();
    pids.sort_unstable();
    pids.dedup();
    let refusal = Refusal::new("install_in_use", message.join("; "));
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let stop = match pids.is_empty() {
        true => "stop it first; nothing was removed".into(),
        false => format!("stop it first (kill {}), then remove again; nothing was removed", pids.join(" ")),
    };
    Err(refusal.hint(stop))
}
