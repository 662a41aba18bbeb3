//! One client's claim on one job.
//!
//! The link never waits for a client: what a slow one has not taken yet is joined to one pending
//! update, whose size the job's own token limit bounds.

use super::link::Ask;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use superfluid_core::Refusal;
use superfluid_core::sched::{Finish, JobId, Usage};
use superfluid_core::wire::JobUpdate;
use tokio::sync::{Notify, mpsc};

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

#[derive(Debug, Default)]
struct Pending {
    accepted: Option<u32>,
    update: Option<JobUpdate>,
    end: Option<End>,
}

/// The side of the link.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pending: Mutex<Pending>,
    notify: Notify,
}

impl Slot {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn accepted(&self, prompt_tokens: u32) {
        self.pending().accepted = Some(prompt_tokens);
        self.notify.notify_one();
    }

    pub(super) fn update(&self, update: JobUpdate) {
        let mut pending = self.pending();
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
    }

    pub(super) fn end(&self, end: End) {
        self.pending().end = Some(end);
        self.notify.notify_one();
    }

    fn take(&self) -> Option<News> {
        let mut pending = self.pending();
        if let Some(prompt_tokens) = pending.accepted.take() {
            return Some(News::Accepted { prompt_tokens });
        }
        if let Some(update) = pending.update.take() {
            return Some(News::Update(update));
        }
        pending.end.take().map(News::End)
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
    pub(super) fn new(id: JobId, asks: mpsc::UnboundedSender<Ask>) -> (Self, Arc<Slot>) {
        let slot = Arc::new(Slot::default());
        (Self { id, slot: Arc::clone(&slot), asks, ended: false }, slot)
    }

    /// The job's id.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// What is next; nothing follows the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> News {
        loop {
            if let Some(news) = self.slot.take() {
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
