//! The supervisor's durations and bounds.

use crate::time::Duration;
use serde::{Deserialize, Serialize};

/// How patient the supervisor is. The defaults suit a person's machine as well as a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// From spawn to the worker's `Hello`.
    pub handshake: Duration,
    /// While loading, from one sign of progress to the next. A load that goes on may take hours.
    pub load_stall: Duration,
    /// From one `Ping` to the next while ready.
    pub ping_every: Duration,
    /// From a `Ping` to any frame from a worker that has nothing to do, until it counts as one that does
    /// not answer. It may come back: it is ended only after `ping_patience`.
    pub idle_patience: Duration,
    /// From a `Ping` to any frame from the worker. Longer than the longest device step.
    pub ping_patience: Duration,
    /// From a worker's last word (it said it ends, or it was told to) to the kill.
    pub exit_grace: Duration,
    /// From `drain` until what still runs is cut.
    pub drain: Duration,
    /// Before the first restart; doubled for each crash in a row.
    pub backoff_first: Duration,
    /// The longest wait before a restart.
    pub backoff_max: Duration,
    /// Crashes in a row after which the supervisor gives up: those of a worker that did not come
    /// up, or had nothing to do. One that dies of its jobs is restarted without end, ever slower,
    /// so that a client that sends the same poison over and over can't end the service. A life
    /// that completed a job, or was ready for `stable`, ends the row.
    pub crashes_max: u32,
    /// See `crashes_max`.
    pub stable: Duration,
    /// How long a job that may have been the last worker's end is tried before new ones run beside it
    /// although it has brought nothing yet.
    pub trial: Duration,
    /// Bytes of a job's text and log probabilities that its client may leave untaken before the job is
    /// paused. It goes on when they are half as many.
    pub backlog_max: u64,
    /// Jobs of one class that have not ended, at most; further ones are refused. A flood of one class
    /// closes no door to the others.
    pub jobs_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(20),
            load_stall: Duration::from_secs(600),
            ping_every: Duration::from_secs(2),
            idle_patience: Duration::from_secs(2),
            ping_patience: Duration::from_secs(60),
            exit_grace: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            backoff_first: Duration::from_millis(250),
            backoff_max: Duration::from_secs(30),
            crashes_max: 8,
            stable: Duration::from_secs(60),
            trial: Duration::from_secs(3),
            backlog_max: 256 << 10,
            jobs_max: 512,
        }
    }
}

impl Config {
    /// The wait before the restart that follows the `crashes`th crash in a row, counted from 1.
    pub fn backoff(&self, crashes: u32) -> Duration {
        let doublings = crashes.saturating_sub(1).min(30);
        self.backoff_first.saturating_mul(1 << doublings).min(self.backoff_max)
    }
}
