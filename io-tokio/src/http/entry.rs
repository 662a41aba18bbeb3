//! One request's line in the log, and its place in the metrics; where it has several prompts, each
//! one's.
//!
//! The line goes to the target `superfluid::access`, once, when the request has ended. It names no
//! text of a prompt or reply and no file.

use crate::metrics::Metrics;
use crate::worker::{End, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::sched::{Class, Finish, Usage};

/// Whether a prompt of the request failed, and the others were given up for it.
pub(super) type Failed = Arc<AtomicBool>;

/// See the module. Dropped before the end was told, it says that the client is gone, unless another
/// prompt of the same request failed.
pub(super) struct Entry {
    id: String,
    class: Class,
    model: String,
    metrics: Metrics,
    came: tokio::time::Instant,
    timing: Option<Timing>,
    prompt: u32,
    told: bool,
    failed: Failed,
}

impl Entry {
    /// A request `id` that came just now.
    pub(super) fn new(id: &str, class: Class, model: &str, metrics: Metrics, failed: &Failed) -> Self {
        let came = tokio::time::Instant::now();
        Self {
            id: id.into(),
            class,
            model: model.into(),
            metrics,
            came,
            timing: None,
            prompt: 0,
            told: false,
            failed: Arc::clone(failed),
        }
    }

    pub(super) fn accepted(&mut self, prompt_tokens: u32) {
        self.prompt = prompt_tokens;
    }

    /// The times of its tokens so far.
    pub(super) fn timed(&mut self, timing: Timing) {
        let (began, tokens) = self.timing.map_or((false, 0), |had| (had.first.is_some(), had.tokens));
        self.timing = Some(timing);
        if let Some(first) = self.first().filter(|_| !began) {
            self.metrics.began(&self.model, self.class, first);
        }
        self.metrics.decoded(&self.model, timing.tokens - tokens);
    }

    pub(super) fn ended(&mut self, end: &End) {
        match end {
            End::Finished { finish, usage } => {
                let word = match finish {
                    Finish::Stop => "stop",
                    Finish::Length => "length",
                    Finish::Cancelled => "cancelled",
                };
                self.tell(word, *usage);
            }
            End::Failed(refusal) => {
                self.failed.store(true, Ordering::Relaxed);
                self.metrics.refused(&self.model, &refusal.code);
                self.failed(&refusal.code);
            }
        }
    }

    fn failed(&mut self, code: &str) {
        let usage = self.usage();
        self.line(code, usage);
        self.metrics.ended(&self.model, self.class, "error");
        self.told = true;
    }

    fn tell(&mut self, finish: &'static str, usage: Usage) {
        self.line(finish, usage);
        self.metrics.ended(&self.model, self.class, finish);
        self.told = true;
    }

    /// What is known of a request that did not end well.
    fn usage(&self) -> Usage {
        let completion = self.timing.map_or(0, |timing| timing.tokens);
        Usage { prompt: self.prompt, cached: 0, completion }
    }

    fn first(&self) -> Option<Duration> {
        Some(self.timing?.first?.duration_since(self.came))
    }

    fn line(&self, finish: &str, usage: Usage) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            target: "superfluid::access",
            id = self.id,
            model = self.model,
            class = self.class.as_str(),
            prompt = usage.prompt,
            cached = usage.cached,
            completion = usage.completion,
            ttft_ms = self.first().map(millis),
            tokens_per_s = self.timing.and_then(|timing| timing.rate()),
            total_ms = millis(self.came.elapsed()),
            finish,
        );
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.told {
            let usage = self.usage();
            self.tell(if self.failed.load(Ordering::Relaxed) { "cancelled" } else { "gone" }, usage);
        }
    }
}

/// The line of a request that never had a job.
pub(super) fn refused(id: &str, path: &str, refusal: &Refusal) {
    let path: String = path.chars().take(80).collect();
    tracing::info!(target: "superfluid::access", id, path, finish = refusal.code);
}
