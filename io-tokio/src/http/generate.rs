//! `/v1/chat/completions` and `/v1/completions`.

use super::State;
use super::body::{self, Whole};
use super::entry::{Entry, Failed};
use super::exchange::{Exchange, Source};
use super::reply::Reply;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};
use superfluid_core::Refusal;
use superfluid_core::api::{self, Endpoint, Request};
use superfluid_core::capability::validate_request;
use superfluid_core::sched::JobId;
use superfluid_core::time::Instant;

/// Bytes from which a body is parsed on a thread of its own.
const LARGE: usize = 256 << 10;

/// Answers, or says why not before anything of a stream was sent.
pub(super) async fn answer(
    state: &State,
    endpoint: Endpoint,
    headers: &HeaderMap,
    body: Incoming,
    id: &str,
) -> Result<Reply, Refusal> {
    let header = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    api::check_content_type(header("content-type"))?;
    let class = api::parse_class(header("x-superfluid-qos"))?;
    let patience = api::parse_deadline(header("x-superfluid-deadline-ms"))?;
    let deadline = patience.map(|patience| tokio::time::Instant::now() + patience);
    let Whole { bytes, share } = body::read(state, headers, body).await?;
    let request = parse(state, endpoint, bytes).await?;
    let now = unix_now();
    let unique = format!("{:016x}{:016x}", random(), random());
    let reply = api::Reply::new(&request, &unique, now, Instant::ORIGIN);
    let failed = Failed::default();
    let source = |request: Request| {
        let entry = Entry::new(id, class, &request.model, state.fleet.metrics().clone(), &failed);
        let fleet = state.fleet.clone();
        let routed = async move {
            let lease = fleet.lease(&request.model, deadline).await?;
            if let Some(loaded) = lease.worker().view().loaded {
                request.check_vocab(loaded.vocab)?;
                validate_request(&loaded.record, &request.model, &request)?;
            }
            let ticket = lease.worker().submit(request.into_submit(JobId(0), class, random(), now), deadline);
            Ok((lease, ticket))
        };
        Source::new(Box::pin(routed), entry)
    };
    let sources = request.split().into_iter().map(source).collect();
    Ok(Exchange::new(sources, reply, share).answer().await)
}

/// Elsewhere where it takes long: other clients' tokens must not wait for it.
async fn parse(state: &State, endpoint: Endpoint, bytes: Vec<u8>) -> Result<Request, Refusal> {
    let (large, bounds, fleet) = (bytes.len() > LARGE, state.config.bounds, state.fleet.clone());
    let parse = move || {
        let ids: Vec<&str> = fleet.models().iter().map(|model| model.id.as_str()).collect();
        match endpoint {
            Endpoint::Chat => api::parse_chat(&bytes, &bounds, &ids),
            Endpoint::Completion => api::parse_completion(&bytes, &bounds, &ids),
        }
    };
    if !large {
        return parse();
    }
    tokio::task::spawn_blocking(parse).await.unwrap_or_else(|error| {
        Err(Refusal::new("internal_error", format!("the request was not parsed: {error}")))
    })
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The standard library keys its hashers from the system's random source.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
