//! One job and its HTTP reply: drives core's reply machine with what the worker says.

use super::entry::Entry;
use super::reply::{self, Payload, Reply};
use crate::fleet::Lease;
use crate::worker::{End, News, Ticket};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::pin::Pin;
use superfluid_core::api::{self, Output};
use superfluid_core::time::Instant;
use superfluid_core::{Misuse, Refusal};
use tokio::sync::OwnedSemaphorePermit;

/// Finds the model's worker, waiting for it to be loaded, and submits the job.
pub(super) type Routed = Pin<Box<dyn Future<Output = Result<(Lease, Ticket), Refusal>> + Send>>;

enum Source {
    Routing(Routed),
    /// The model stays loaded while the lease is held; the ticket, which goes first, cancels its job.
    Job(Ticket, #[expect(dead_code, reason = "held for what its drop does")] Lease),
    Over,
}

impl Source {
    /// Dropping the future loses nothing.
    async fn next(&mut self, entry: &mut Entry) -> News {
        loop {
            match self {
                Self::Routing(routed) => match routed.await {
                    Ok((lease, ticket)) => *self = Self::Job(ticket, lease),
                    Err(refusal) => {
                        *self = Self::Over;
                        let end = End::Failed(refusal);
                        entry.ended(&end);
                        return News::End(end);
                    }
                },
                Self::Job(ticket, _) => {
                    let news = ticket.next().await;
                    entry.timed(ticket.timing());
                    match &news {
                        News::Accepted { prompt_tokens } => entry.accepted(*prompt_tokens),
                        News::Update(_) => {}
                        News::End(end) => entry.ended(end),
                    }
                    // Once the worker is done with it, a client that reads slowly keeps no model loaded.
                    if matches!(news, News::End(_)) {
                        *self = Self::Over;
                    }
                    return news;
                }
                Self::Over => return std::future::pending().await,
            }
        }
    }
}

/// Dropped before its end (the client is gone), it cancels its job.
pub(super) struct Exchange {
    source: Source,
    reply: api::Reply,
    entry: Entry,
    origin: tokio::time::Instant,
    /// Polled, and not for the piece that was being put together.
    held: Option<Output>,
    /// Its part of what all bodies may take, held while the daemon keeps the request.
    _share: OwnedSemaphorePermit,
}

impl Exchange {
    /// `reply` was made at `Instant::ORIGIN`, which is now.
    pub(super) fn new(routed: Routed, reply: api::Reply, entry: Entry, share: OwnedSemaphorePermit) -> Self {
        Self {
            source: Source::Routing(routed),
            reply,
            entry,
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
            let news = match timeout {
                Some(at) => tokio::time::timeout_at(at, self.source.next(&mut self.entry)).await.ok(),
                None => Some(self.source.next(&mut self.entry).await),
            };
            if let Err(misuse) = self.handle(news) {
                tracing::error!(%misuse, "a reply was misused");
                return Output::End;
            }
        }
    }

    fn handle(&mut self, news: Option<News>) -> Result<(), Misuse> {
        let nanos = self.origin.elapsed().as_nanos();
        let now = Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        match news {
            None => self.reply.handle_timeout(now),
            Some(News::Accepted { .. }) => self.reply.handle_accepted(now),
            Some(News::Update(update)) => self.reply.handle_update(&update, now),
            Some(News::End(End::Finished { finish, usage })) => {
                self.reply.handle_finished(finish, usage, now)
            }
            Some(News::End(End::Failed(refusal))) => self.reply.handle_failed(&refusal, now),
        }
    }
}
