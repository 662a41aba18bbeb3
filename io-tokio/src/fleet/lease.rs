//! What others hold of a fleet.

use super::keeper::Ask;
use super::{Model, Overview};
use crate::metrics::Metrics;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use superfluid_core::Refusal;
use superfluid_core::api::codes;
use superfluid_core::fleet::{AskId, RequestId};
use tokio::sync::{mpsc, oneshot, watch};

/// A handle on the fleet. Clones share it.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(super) asks: mpsc::UnboundedSender<Ask>,
    pub(super) models: Arc<[Model]>,
    pub(super) metrics: Metrics,
    pub(super) overview: watch::Receiver<Overview>,
    pub(super) ids: Arc<AtomicU64>,
}

impl Fleet {
    /// Every model, in its order.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// What is counted of their requests.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Where they stand now.
    pub fn overview(&self) -> watch::Ref<'_, Overview> {
        self.overview.borrow()
    }

    /// A claim on a model, once it is loaded. Dropping the future gives the claim up.
    ///
    /// # Errors
    /// Why the request goes nowhere: the model is not served, can't be loaded, too many wait for it, the
    /// deadline passed, the server is shutting down.
    pub async fn lease(&self, model: &str, deadline: Option<tokio::time::Instant>) -> Result<Lease, Refusal> {
        let id = RequestId(self.next_id());
        let claim = Claim { id, asks: self.asks.clone() };
        let (answer, answered) = oneshot::channel();
        let _ = self.asks.send(Ask::Request { id, model: model.into(), deadline, answer });
        let worker = answered.await.unwrap_or_else(|_| Err(gone()))?;
        Ok(Lease { worker, _claim: claim })
    }

    /// Loads a model.
    ///
    /// # Errors
    /// Why it is not loaded.
    pub async fn load(&self, model: &str) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let _ = self.asks.send(Ask::Load { id: AskId(self.next_id()), model: model.into(), answer });
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Unloads a model once its running requests are over.
    ///
    /// # Errors
    /// The model is not served.
    pub async fn unload(&self, model: &str) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let _ = self.asks.send(Ask::Unload { id: AskId(self.next_id()), model: model.into(), answer });
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Finish what runs, take nothing new, end every worker.
    pub fn drain(&self) {
        let _ = self.asks.send(Ask::Drain);
    }

    /// End every worker now.
    pub fn stop(&self) {
        let _ = self.asks.send(Ask::Stop);
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The task is over, and so is the server.
fn gone() -> Refusal {
    Refusal::new(codes::SHUTTING_DOWN, "the server is shutting down and takes no new requests")
}

/// A request's claim on a loaded model, which is not unloaded meanwhile.
#[derive(Debug)]
pub struct Lease {
    worker: Worker,
    _claim: Claim,
}

impl Lease {
    /// The model's worker.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }
}

/// Told to be over when it is dropped.
#[derive(Debug)]
struct Claim {
    id: RequestId,
    asks: mpsc::UnboundedSender<Ask>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = self.asks.send(Ask::Done(self.id));
    }
}
