//! Ends the process when a request's preparation does not come back.
//!
//! The template engine bounds the work it counts. What it does not count (lists joined into lists
//! until they do not fit in memory) is bounded here, by time: the process ends, and the daemon's
//! restart and its rule about requests that kill workers do the rest.

use super::shared::Shared;
use std::time::{Duration, Instant};

/// Time one request's template and tokenizer may take, whatever its size.
const LIMIT: Duration = Duration::from_secs(5);

/// Bytes of input that add a second: a tokenizer does a few megabytes of odd text in that time on
/// a machine with nothing else to do.
const BYTES_A_SECOND: usize = 128 << 10;

/// Below the time after which the daemon gives up a worker that answers no ping.
const MOST: Duration = Duration::from_secs(45);

fn limit(bytes: usize) -> Duration {
    let more = u64::try_from(bytes / BYTES_A_SECOND).unwrap_or(u64::MAX);
    LIMIT.saturating_add(Duration::from_secs(more)).min(MOST)
}

pub(super) fn run(shared: &Shared) {
    while let Some(bytes) = shared.preparing.recv() {
        let limit = limit(bytes);
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if shared.preparing.alerts() != 0 {
                break;
            }
            if left.is_zero() {
                eprintln!(
                    "a request's chat template or tokenizer took more than {limit:?}: the worker exits"
                );
                std::process::exit(1);
            }
            shared.preparing.wait(Some(left));
        }
        shared.preparing.recv();
    }
}
