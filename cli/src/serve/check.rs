//! `superfluid serve --check`: everything that can be wrong before serving, looked at without it.

use super::prepare::{Checked, Choice};
use crate::print;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_core::access::Access;

/// Looks, and prints what would be done.
///
/// # Errors
/// Whatever would keep `serve` from serving.
pub(super) fn run(address: SocketAddr, access: &Access, choice: &Choice) -> Result<ExitCode, Refusal> {
    // Held only for as long as it takes to look.
    drop(TcpListener::bind(address).map_err(|error| super::cannot_listen(address, &error))?);
    let mut out = String::new();
    let mut line =
        |name: &str, what: &str| out += &format!("{:<9}{}\n", format!("{name}:"), print::plain(what));
    match choice.look()? {
        Some(Checked { words, report }) => {
            for word in &words {
                let (name, what) = word.split_once(':').unwrap_or(("", word));
                line(name, what.trim());
            }
            for device in &report.devices {
                line("device", &format!("{} ({} {})", device.name, device.backend, device.kind));
            }
            for (name, value) in &report.sizing {
                line("sizing", &format!("{name} {value}"));
            }
        }
        None => {
            line("model", &choice.described());
            let runtime = choice.runtime();
            line("runtime", &format!("{runtime}, which is not installed; serve installs it first"));
            line("", &format!("superfluid runtime install {runtime} --dry-run shows what that fetches"));
        }
    }
    line("name", &choice.id);
    line("sandbox", &choice.allowed.words());
    let key = if access.api_key.is_some() { "clients must show the key" } else { "no key is asked for" };
    line("listen", &format!("{address}, which is free; {key}"));
    out += "all good; nothing was started\n";
    Ok(print::data(&out))
}
