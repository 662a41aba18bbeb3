//! The sandbox a worker puts itself in before it has a second thread and before it loads anything.

use std::sync::OnceLock;
use superfluid_core::Refusal;
use superfluid_core::runtime::Sandbox;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;

#[cfg(target_os = "linux")]
mod sockets;

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Refusal, Sandbox};

    #[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
    pub(super) fn enter(_: &Sandbox) -> Result<Vec<String>, Refusal> {
        Ok(Vec::new())
    }
}

/// What the kernel can't do of the sandbox that was entered.
static MISSING: OnceLock<Vec<String>> = OnceLock::new();

/// What this system can't do of the sandbox that was entered, in words.
pub(crate) fn missing() -> Vec<String> {
    MISSING.get().cloned().unwrap_or_default()
}

/// Enters the sandbox that the daemon asks for, if it asks for one.
///
/// # Errors
/// `sandbox_failed`: a worker that should be confined and is not must not go on.
pub(crate) fn enter() -> Result<(), Refusal> {
    let Some(text) = std::env::var_os(Sandbox::VARIABLE) else { return Ok(()) };
    let Some(Ok(sandbox)) = text.to_str().map(serde_json::from_str) else {
        return Err(failed(&format!("{} is not understood", Sandbox::VARIABLE)));
    };
    let missing = system::enter(&sandbox)?;
    MISSING.get_or_init(|| missing);
    Ok(())
}

fn failed(why: &str) -> Refusal {
    Refusal::new("sandbox_failed", format!("the worker's sandbox can't be set up: {why}"))
        .hint("serve --no-sandbox starts workers without one")
}
