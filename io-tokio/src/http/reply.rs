//! Replies: whole ones, errors, and the body type all replies share.

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use superfluid_core::Refusal;
use superfluid_core::api::ErrorReply;

/// A reply's body.
pub(super) enum Payload {
    /// All of it; `None` once it was taken.
    Whole(Option<Bytes>),
    /// Piece by piece.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

/// A reply.
pub(super) type Reply = Response<Payload>;

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                events.poll_next_unpin(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// A JSON reply.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Reply {
    let payload = Payload::Whole(Some(body.into()));
    with(status, HeaderValue::from_static("application/json"), None, payload)
}

/// A refusal in the API's envelope.
pub(super) fn refusal(refusal: &Refusal) -> Reply {
    let error = ErrorReply::new(refusal);
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let payload = Payload::Whole(Some(error.body().into()));
    with(status, HeaderValue::from_static("application/json"), error.retry_after, payload)
}

/// A reply of these parts.
pub(super) fn with(
    status: StatusCode,
    content_type: HeaderValue,
    retry_after: Option<u32>,
    payload: Payload,
) -> Reply {
    let mut reply = Response::new(payload);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    reply
}
