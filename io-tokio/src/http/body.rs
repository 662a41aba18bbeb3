//! Request bodies, whole and bounded.

use super::State;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::api::{check_content_encoding, codes};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

/// A body, and its share of what all bodies may take together.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) share: OwnedSemaphorePermit,
}

/// Reads it to the end, where `headers` don't say that it is compressed.
pub(super) async fn read(state: &State, headers: &HeaderMap, mut body: Incoming) -> Result<Whole, Refusal> {
    check_content_encoding(headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes))?;
    let config = &state.config;
    let bounds = &config.bounds;
    if body.size_hint().lower() > bounds.bytes as u64 {
        return Err(bounds.too_large());
    }
    let mut share = grab(state, 1)?;
    let mut bytes = Vec::new();
    let last = Instant::now() + config.body_deadline;
    loop {
        let next = last.min(Instant::now() + config.body_timeout);
        let frame = match timeout_at(next, body.frame()).await {
            Err(_) => {
                let message = format!("the body did not arrive in time; {} bytes of it came", bytes.len());
                return Err(Refusal::new(codes::REQUEST_TIMEOUT, message));
            }
            Ok(None) => return Ok(Whole { bytes, share }),
            Ok(Some(Err(error))) => {
                let message = format!("the body can't be read after {} bytes: {error}", bytes.len());
                return Err(Refusal::new(codes::INVALID_JSON, message));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bounds.bytes {
            return Err(bounds.too_large());
        }
        bytes.extend_from_slice(&data);
        let wanted = bytes.len() / 1024 + 1;
        if wanted > share.num_permits() {
            share.merge(grab(state, wanted - share.num_permits())?);
        }
    }
}

fn grab(state: &State, kib: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let kib = u32::try_from(kib).unwrap_or(u32::MAX);
    Arc::clone(&state.bodies).try_acquire_many_owned(kib).map_err(|_| {
        Refusal::new(codes::OVERLOADED, "the requests being served hold all memory set aside for bodies")
            .hint("send the request again later")
    })
}
