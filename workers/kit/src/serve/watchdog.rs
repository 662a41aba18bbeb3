//! Ends the process when a request's preparation does not come back.
//!
//! The template engine bounds the work it counts. What it does not count (lists joined into lists
//! until they do not fit in memory) is bounded here, by time: the process ends, and the daemon's
//! restart and its rule about requests that kill workers do the rest.

use super::shared::Shared;
use std::time::{Duration, Instant};

/// Time one request's template and tokenizer may take.
const LIMIT: Duration = Duration::from_secs(5);

pub(super) fn run(shared: &Shared) {
    while shared.preparing.recv().is_some() {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if shared.preparing.alerts() != 0 {
                break;
            }
            if left.is_zero() {
                eprintln!(
                    "a request's chat template or tokenizer took more than {LIMIT:?}: the worker exits"
                );
                std::process::exit(1);
            }
            shared.preparing.wait(Some(left));
        }
        shared.preparing.recv();
    }
}
