//! A request's jobs and its HTTP reply: drives core's reply machine with what the worker says.

use super::entry::Entry;
use super::reply::{self, Payload, Reply};
use crate::fleet::Lease;
use crate::worker::{End, News, Ticket};
use bytes::Bytes;
use futures_util::stream::{SelectAll, Stream, StreamExt, unfold};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::pin::Pin;
use superfluid_core::api::{self, Output};
use superfluid_core::time::Instant;
use superfluid_core::{Misuse, Refusal};
use tokio::sync::OwnedSemaphorePermit;

/// Finds the model's worker, waiting for it to be loaded, and submits the job.
pub(super) type Routed = Pin<Box<dyn Future<Output = Result<(Lease, Ticket), Refusal>> + Send>>;

enum Stage {
    Routing(Routed),
    /// The model stays loaded while the lease is held; the ticket, which goes first, cancels its job.
    Job(Ticket, #[expect(dead_code, reason = "held for what its drop does")] Lease),
}

/// One prompt's job, and its line in the log.
pub(super) struct Source {
    stage: Stage,
    entry: Entry,
}

/// News of the choice with this index.
type Told = (usize, News);

impl Source {
    pub(super) fn new(routed: Routed, entry: Entry) -> Self {
        Self { stage: Stage::Routing(routed), entry }
    }

    /// Dropping the future loses nothing. Nothing follows the end.
    async fn next(&mut self) -> News {
        loop {
            match &mut self.stage {
                Stage::Routing(routed) => match routed.await {
                    Ok((lease, ticket)) => self.stage = Stage::Job(ticket, lease),
                    Err(refusal) => {
                        let end = End::Failed(refusal);
                        self.entry.ended(&end);
                        return News::End(end);
                    }
                },
                Stage::Job(ticket, _) => {
                    let news = ticket.next().await;
                    self.entry.timed(ticket.timing());
                    match &news {
                        News::Accepted { prompt_tokens } => self.entry.accepted(*prompt_tokens),
                        News::Update(_) => {}
                        News::End(end) => self.entry.ended(end),
                    }
                    return news;
                }
            }
        }
    }

    /// What it says. Once the worker is done with it, a client that reads slowly keeps no model loaded.
    fn told(self, choice: usize) -> impl Stream<Item = Told> {
        unfold(Some(self), move |source| async move {
            let mut source = source?;
            let news = source.next().await;
            let over = matches!(news, News::End(_));
            Some(((choice, news), (!over).then_some(source)))
        })
    }
}

/// Dropped before its end (the client is gone), it cancels its jobs.
pub(super) struct Exchange {
    sources: SelectAll<Pin<Box<dyn Stream<Item = Told> + Send>>>,
    reply: api::Reply,
    origin: tokio::time::Instant,
    /// Polled, and not for the piece that was being put together.
    held: Option<Output>,
    /// Its part of what all bodies may take, held while the daemon keeps the request.
    _share: OwnedSemaphorePermit,
}

impl Exchange {
    /// `reply` was made at `Instant::ORIGIN`, which is now; each of its choices has a source.
    pub(super) fn new(sources: Vec<Source>, reply: api::Reply, share: OwnedSemaphorePermit) -> Self {
        let told = sources.into_iter().enumerate().map(|(choice, source)| source.told(choice).boxed());
        Self {
            sources: told.collect(),
            reply,
            origin: tokio::time::Instant::now(),
            held: None,
            _share: share,
        }
    }

    /// The reply, once its status is known.
    pub(super) async fn answer(mut self) -> Reply {
        let (status, content_type, retry_after) = loop {
            if let Output::Head { status, content_type, retry_after } = self.next().await {
                break (status, content_type, retry_after);
            }
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // What is over at its head is whole: an error, or a reply that is not streamed.
        let payload = if self.reply.is_over() {
            Payload::Whole(self.bytes().await)
        } else {
            Payload::Events(Box::pin(self.events()))
        };
        reply::with(status, HeaderValue::from_static(content_type), retry_after, payload)
    }

    fn events(self) -> impl Stream<Item = Bytes> {
        unfold(self, |mut exchange| async move { exchange.bytes().await.map(|bytes| (bytes, exchange)) })
    }

    /// What is to be written now, in one piece; `None` at the end.
    async fn bytes(&mut self) -> Option<Bytes> {
        let mut all: Vec<u8> = match self.next().await {
            Output::Bytes(bytes) => bytes,
            Output::Head { .. } | Output::End => return None,
        };
        loop {
            match self.reply.poll_output() {
                Some(Output::Bytes(more)) => all.extend_from_slice(&more),
                other => {
                    self.held = other;
                    break;
                }
            }
        }
        Some(all.into())
    }

    async fn next(&mut self) -> Output {
        loop {
            if let Some(output) = self.held.take().or_else(|| self.reply.poll_output()) {
                return output;
            }
            if self.reply.is_over() {
                return Output::End;
            }
            let timeout = self.reply.poll_timeout().map(|(at, _)| self.origin + at.since(Instant::ORIGIN));
            let told = match timeout {
                Some(at) => tokio::time::timeout_at(at, self.sources.next()).await.ok(),
                None => Some(self.sources.next().await),
            };
            let handled = match told {
                None => self.reply.handle_timeout(self.now()),
                Some(Some((choice, news))) => self.handle(choice, news),
                Some(None) => Err(Misuse::State("every source has ended and the reply has not")),
            };
            if let Err(misuse) = handled {
                tracing::error!(%misuse, "a reply was misused");
                return Output::End;
            }
        }
    }

    fn now(&self) -> Instant {
        let nanos = self.origin.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn handle(&mut self, choice: usize, news: News) -> Result<(), Misuse> {
        let now = self.now();
        let handled = match news {
            News::Accepted { .. } => self.reply.handle_accepted(choice, now),
            News::Update(update) => self.reply.handle_update(choice, &update, now),
            News::End(End::Finished { finish, usage }) => {
                self.reply.handle_finished(choice, finish, usage, now)
            }
            News::End(End::Failed(refusal)) => self.reply.handle_failed(choice, &refusal, now),
        };
        // One prompt that fails ends all of them, however slowly the client reads that.
        if self.reply.is_over() {
            self.sources.clear();
        }
        handled
    }
}
