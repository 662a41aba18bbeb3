//! Carries out what core's install machine asks from an async task: each effect on the blocking
//! pool, progress and giving up beside it.

use std::path::Path;
use superfluid_core::install::machine::{Event, Finished, Machine};
use superfluid_core::runtime::RuntimeId;
use superfluid_core::{Instant, Refusal};
use superfluid_io_blocking::Cancel;
use superfluid_io_blocking::install::Installer;
use tokio::sync::mpsc;

/// Drives a request to its end in `dir`, the runtime's own directory. Once `cancel` says so, the
/// effect in flight ends early and all is undone. A future that is dropped leaves the effect in
/// flight to end by itself, and the next run sweeps.
///
/// # Errors
/// What the machine refuses.
pub async fn run(
    machine: &mut Machine,
    runtime: RuntimeId,
    dir: &Path,
    cancel: Cancel,
    mut heard: impl FnMut(&Event),
) -> Result<Finished, Refusal> {
    let started = tokio::time::Instant::now();
    let now = || Instant::from_nanos(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut installer = Installer::new(runtime, dir, cancel.clone());
    loop {
        while let Some(event) = machine.poll_event() {
            heard(&event);
        }
        let Some(effect) = machine.poll_effect() else { break };
        let (tell, mut steps) = mpsc::channel(1);
        let action = effect.action.clone();
        let mut task = tokio::task::spawn_blocking(move || {
            let outcome = installer.perform(&action, &mut |bytes| {
                // Only the latest matters: a step that finds no room is followed by another.
                let _ = tell.try_send(bytes);
            });
            (installer, outcome)
        });
        let ended = loop {
            tokio::select! {
                ended = &mut task => break ended,
                Some(bytes) = steps.recv() => {
                    // The effect is in flight while it is performed, so there is nothing to misuse.
                    let _ = machine.handle_progress(effect.id, bytes, now());
                    while let Some(event) = machine.poll_event() {
                        heard(&event);
                    }
                }
            }
        };
        let (back, outcome) = ended.map_err(|error| {
            Refusal::new("internal", format!("an install's effect ended without an answer: {error}"))
        })?;
        installer = back;
        if cancel.asked() {
            machine.cancel();
        }
        machine.handle_done(effect.id, outcome, now()).map_err(|misuse| {
            Refusal::new("internal", format!("the installer was driven wrongly: {misuse}"))
        })?;
    }
    match machine.result() {
        Some(result) => result.clone(),
        None => Err(Refusal::new("internal", "the installer stopped before its end")),
    }
}
