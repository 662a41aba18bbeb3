//! What a service manager is told, where one listens (`Type=notify`).

use sd_notify::NotifyState;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Variables that are between this process and its service manager.
pub(super) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"];

/// The model is loaded: what depends on this service may start.
pub(super) fn ready(what: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("serving {what}"))]);
}

/// What it is doing meanwhile.
pub(super) fn status(what: &str) {
    tell(&[NotifyState::Status(what)]);
}

/// It finishes what runs and ends.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// The loop runs.
pub(super) fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// When to say so: twice as often as is asked for, or never.
pub(super) struct Beat(Option<Interval>);

impl Beat {
    pub(super) fn new() -> Self {
        let every = sd_notify::watchdog_enabled().map(|every| (every / 2).max(Duration::from_millis(1)));
        Self(every.map(|every| {
            let mut beat = interval(every);
            beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            beat
        }))
    }

    pub(super) async fn next(&mut self) {
        match &mut self.0 {
            Some(beat) => {
                beat.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager was not told");
    }
}
