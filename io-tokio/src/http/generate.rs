//! `/v1/chat/completions` and `/v1/completions`.

use super::exchange::Exchange;
use super::reply::Reply;
use super::{State, body};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};
use superfluid_core::Refusal;
use superfluid_core::api::{self, Endpoint};
use superfluid_core::capability::validate_request;
use superfluid_core::sched::JobId;
use superfluid_core::time::Instant;

/// Answers, or says why not before anything of a stream was sent.
pub(super) async fn answer(
    state: &State,
    endpoint: Endpoint,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Reply, Refusal> {
    let header = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    api::check_content_type(header("content-type"))?;
    let class = api::parse_class(header("x-superfluid-qos"))?;
    let whole = body::read(state, body).await?;
    let served = [state.served.id.as_str()];
    let request = match endpoint {
        Endpoint::Chat => api::parse_chat(&whole.bytes, &state.config.bounds, &served)?,
        Endpoint::Completion => api::parse_completion(&whole.bytes, &state.config.bounds, &served)?,
    };
    drop(whole.bytes);
    if let Some(loaded) = state.served.worker.view().loaded {
        request.check_vocab(loaded.vocab)?;
        validate_request(&loaded.record, &state.served.id, &request)?;
    }
    let now = unix_now();
    let unique = format!("{:016x}{:016x}", random(), random());
    let reply = api::Reply::new(&request, &unique, now, Instant::ORIGIN);
    let submit = request.into_submit(JobId(0), class, random(), now);
    let ticket = state.served.worker.submit(submit);
    Ok(Exchange::new(ticket, reply, whole.share).answer().await)
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The standard library keys its hashers from the system's random source.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
