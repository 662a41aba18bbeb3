//! One load of one model: prepared, started, attended to its end.

use super::keeper::{Heard, Launch};
use crate::worker::{Notice, Unstarted};
use superfluid_core::Refusal;
use superfluid_core::fleet::Load;
use superfluid_core::supervise::{Config, Death};
use tokio::sync::{mpsc, oneshot};

/// Tells `heard` everything about the load; the last word is `Stopped`, or `Down` for good.
pub(super) async fn live(
    load: Load,
    name: String,
    mut unstarted: Unstarted,
    prepared: impl Future<Output = Result<Launch, Refusal>>,
    mut stop: oneshot::Receiver<()>,
    config: Config,
    heard: mpsc::UnboundedSender<Heard>,
) {
    let tell = |notice| {
        let _ = heard.send(Heard { load, notice });
    };
    let failed = |refusal| Notice::Down { death: Death { refusal, stderr: Vec::new() }, restart_in: None };
    let launch = tokio::select! {
        biased;
        Ok(()) = &mut stop => return tell(Notice::Stopped { cut: 0 }),
        launch = unstarted.until(prepared) => launch,
    };
    let Launch { program, spec } = match launch {
        Ok(launch) => launch,
        Err(refusal) => return tell(failed(refusal)),
    };
    let mut notices = unstarted.start(config, &name, program, spec);
    while let Some(notice) = notices.recv().await {
        let last = matches!(notice, Notice::Stopped { .. } | Notice::Down { restart_in: None, .. });
        tell(notice);
        if last {
            return;
        }
    }
    tell(failed(Refusal::new("internal_error", "the worker's task ended without a word")));
}
