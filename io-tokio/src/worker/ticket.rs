//! One client's claim on one job.
//!
//! The link never waits for a client: what a slow one has not taken yet is joined to one pending
//! update. The link is told how much that is, and when it was taken: above a bound the job is paused.

use super::link::Ask;
use prometheus_client::metrics::histogram::Histogram;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use superfluid_core::Refusal;
use superfluid_core::sched::{Finish, JobId, Usage};
use superfluid_core::wire::JobUpdate;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Duration, Instant};

/// How a job ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Well.
    Finished {
        /// Why.
        finish: Finish,
        /// What it used.
        usage: Usage,
    },
    /// Not at all.
    Failed(Refusal),
}

/// What a client learns of its job, in this order: accepted once, updates, one end.
#[derive(Clone, Debug)]
pub enum News {
    /// The worker understood it.
    Accepted {
        /// Its prompt tokens.
        prompt_tokens: u32,
    },
    /// What came since the last update.
    Update(JobUpdate),
    /// It is over.
    End(End),
}

/// When a job's tokens reached the daemon, whenever its client takes them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// The first.
    pub first: Option<Instant>,
    /// The last.
    pub last: Option<Instant>,
    /// How many there were.
    pub tokens: u32,
}

impl Timing {
    /// Tokens a second after the first, rounded to a tenth.
    pub fn rate(&self) -> Option<f64> {
        let took = self.last?.duration_since(self.first?).as_secs_f64();
        let rate = f64::from(self.tokens.saturating_sub(1)) / took;
        (took > 0.0).then(|| (rate * 10.0).round() / 10.0)
    }

    /// Notes tokens that come now; the time each took since the ones before.
    fn took(&mut self, tokens: u32, now: Instant) -> Option<Duration> {
        let since = self.last.map(|last| now.duration_since(last) / tokens.max(1));
        self.first = self.first.or(Some(now));
        self.last = Some(now);
        self.tokens += tokens;
        since
    }
}

#[derive(Debug, Default)]
struct Pending {
    accepted: Option<u32>,
    update: Option<JobUpdate>,
    /// What the update takes.
    bytes: u64,
    /// The link wants to know when it is taken.
    pressing: bool,
    end: Option<End>,
    timing: Timing,
}

/// The side of the link.
#[derive(Debug)]
pub(super) struct Slot {
    pending: Mutex<Pending>,
    notify: Notify,
    gaps: Histogram,
}

impl Slot {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn accepted(&self, prompt_tokens: u32) {
        self.pending().accepted = Some(prompt_tokens);
        self.notify.notify_one();
    }

    /// Returns how many bytes wait now; more than `most` are told of when they are taken.
    pub(super) fn update(&self, update: JobUpdate, most: u64) -> u64 {
        let mut pending = self.pending();
        if let Ok(tokens @ 1..) = u32::try_from(update.tokens.len())
            && let Some(gap) = pending.timing.took(tokens, Instant::now())
        {
            (0..tokens).for_each(|_| self.gaps.observe(gap.as_secs_f64()));
        }
        pending.bytes += update.bytes();
        pending.pressing |= pending.bytes > most;
        let bytes = pending.bytes;
        match &mut pending.update {
            Some(held) => {
                held.tokens.extend_from_slice(&update.tokens);
                held.text.push_str(&update.text);
                held.logprobs.extend(update.logprobs);
            }
            None => pending.update = Some(update),
        }
        drop(pending);
        self.notify.notify_one();
        bytes
    }

    pub(super) fn end(&self, end: End) {
        self.pending().end = Some(end);
        self.notify.notify_one();
    }

    /// What is next, and whether the link waits for its being taken.
    fn take(&self) -> Option<(News, bool)> {
        let mut pending = self.pending();
        if let Some(prompt_tokens) = pending.accepted.take() {
            return Some((News::Accepted { prompt_tokens }, false));
        }
        if let Some(update) = pending.update.take() {
            pending.bytes = 0;
            return Some((News::Update(update), std::mem::take(&mut pending.pressing)));
        }
        pending.end.take().map(|end| (News::End(end), false))
    }
}

/// The client's side. Dropping it before the end cancels the job.
#[derive(Debug)]
pub struct Ticket {
    id: JobId,
    slot: Arc<Slot>,
    asks: mpsc::UnboundedSender<Ask>,
    ended: bool,
}

impl Ticket {
    pub(super) fn new(id: JobId, asks: mpsc::UnboundedSender<Ask>, gaps: Histogram) -> (Self, Arc<Slot>) {
        let slot = Arc::new(Slot { pending: Mutex::default(), notify: Notify::new(), gaps });
        (Self { id, slot: Arc::clone(&slot), asks, ended: false }, slot)
    }

    /// The job's id.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// When its tokens came.
    pub fn timing(&self) -> Timing {
        self.slot.pending().timing
    }

    /// What is next; nothing follows the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> News {
        loop {
            if let Some((news, pressing)) = self.slot.take() {
                if pressing {
                    let _ = self.asks.send(Ask::Taken(self.id));
                }
                self.ended |= matches!(news, News::End(_));
                return news;
            }
            self.slot.notify.notified().await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            // A link that is gone has ended every job already.
            let _ = self.asks.send(Ask::Cancel(self.id));
        }
    }
}
