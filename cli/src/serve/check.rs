//! `superfluid serve --check`: everything that can be wrong before serving, looked at without it.

use super::prepare::{Checked, Choice};
use crate::print;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_core::access::{Access, Host};

/// Looks, and prints what would be done.
///
/// # Errors
/// Whatever would keep `serve` from serving.
pub(super) fn run(address: SocketAddr, access: &Access, choices: &[Choice]) -> Result<ExitCode, Refusal> {
    // Held only for as long as it takes to look.
    drop(TcpListener::bind(address).map_err(|error| super::cannot_listen(address, &error))?);
    let mut out = String::new();
    for choice in choices {
        describe(&mut out, choice)?;
    }
    if let Some(choice) = choices.first() {
        line(&mut out, "sandbox", &choice.allowed.words());
    }
    let key = if access.api_key.is_some() { "clients must show the key" } else { "no key is asked for" };
    line(&mut out, "listen", &format!("{address}, which is free; {key}"));
    if access.loopback && !access.hosts.is_empty() {
        let hosts: Vec<_> = access.hosts.iter().map(Host::as_str).collect();
        line(&mut out, "hosts", &format!("those of loopback, {}", hosts.join(", ")));
    }
    out += "all good; nothing was started\n";
    Ok(print::data(&out))
}

fn describe(out: &mut String, choice: &Choice) -> Result<(), Refusal> {
    match choice.look()? {
        Some(Checked { words, report }) => {
            for word in &words {
                let (name, what) = word.split_once(':').unwrap_or(("", word));
                line(out, name, what.trim());
            }
            for device in &report.devices {
                line(out, "device", &format!("{} ({} {})", device.name, device.backend, device.kind));
            }
            for (name, value) in &report.sizing {
                line(out, "sizing", &format!("{name} {value}"));
            }
        }
        None => {
            line(out, "model", &choice.described());
            let runtime = choice.runtime();
            line(out, "runtime", &format!("{runtime}, which is not installed; serve installs it first"));
            line(out, "", &format!("superfluid runtime install {runtime} --dry-run shows what that fetches"));
        }
    }
    line(out, "name", &choice.id);
    Ok(())
}

fn line(out: &mut String, name: &str, what: &str) {
    *out += &format!("{:<9}{}\n", format!("{name}:"), print::plain(what));
}
