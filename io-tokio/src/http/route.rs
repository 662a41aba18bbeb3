//! Which request is for whom.

use super::reply::{Payload, Reply, refusal};
use super::{State, admin, entry, generate, health, metrics, models};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use superfluid_core::Refusal;
use superfluid_core::access::Knock;
use superfluid_core::api::{self, Endpoint, codes};
use superfluid_core::capability::Workload;

/// Where a path leads.
#[derive(Clone, Copy)]
enum Place<'a> {
    Health,
    Ready,
    Metrics,
    Models,
    Model(&'a str),
    Load,
    Unload,
    Generate(Endpoint),
    /// A part of the API that no runtime serves yet; each model's record says why.
    Other(Workload),
}

impl<'a> Place<'a> {
    /// A model may be called `load`; only a POST to it means something else.
    fn of(method: &Method, path: &'a str) -> Option<Self> {
        Some(match path {
            "/health" => Self::Health,
            "/ready" => Self::Ready,
            "/metrics" => Self::Metrics,
            "/v1/models/load" if *method == Method::POST => Self::Load,
            "/v1/models/unload" if *method == Method::POST => Self::Unload,
            "/v1/models" => Self::Models,
            "/v1/chat/completions" => Self::Generate(Endpoint::Chat),
            "/v1/completions" => Self::Generate(Endpoint::Completion),
            "/v1/embeddings" => Self::Other(Workload::Embeddings),
            "/v1/audio/transcriptions" => Self::Other(Workload::Transcription),
            "/v1/audio/translations" => Self::Other(Workload::Translation),
            _ => Self::Model(path.strip_prefix("/v1/models/").filter(|id| !id.is_empty())?),
        })
    }

    fn allows(self) -> &'static str {
        if matches!(self, Self::Generate(_) | Self::Other(_) | Self::Load | Self::Unload) {
            "POST"
        } else {
            "GET, HEAD"
        }
    }
}

/// Answers one request.
pub(super) async fn answer(state: &State, request: Request<Incoming>) -> Reply {
    let head = request.method() == Method::HEAD;
    let given = request.headers().get("x-request-id").map(HeaderValue::as_bytes);
    let id = match api::request_id(given) {
        Some(id) => id.to_string(),
        None => format!("req-{:016x}", generate::random()),
    };
    let mut reply = match admit(state, &request) {
        Err(denied) => {
            note(state, &id, request.uri().path(), &denied);
            refusal(&denied)
        }
        Ok(origin) => {
            let mut reply = match request.method() {
                &Method::OPTIONS => preflight(origin.is_some()),
                _ => dispatch(state, request, &id).await,
            };
            if let Some(origin) = origin {
                reply.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            }
            reply.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
            reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            reply
        }
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        reply.headers_mut().insert("x-request-id", id);
    }
    if !state.fleet.overview().serves {
        reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if head {
        *reply.body_mut() = Payload::Whole(None);
    }
    reply
}

/// Counts and logs a request that never had a job.
fn note(state: &State, id: &str, path: &str, no: &Refusal) {
    state.fleet.metrics().refused("", &no.code);
    entry::refused(id, path, no);
}

fn admit(state: &State, request: &Request<Incoming>) -> Result<Option<HeaderValue>, Refusal> {
    // A header that is no text, or comes twice, is one that no honest client sends.
    let text = |name: HeaderName| {
        let mut all = request.headers().get_all(name).iter();
        let first = all.next().map(|value| value.to_str().unwrap_or("\u{fffd}"));
        if all.next().is_some() { Some("\u{fffd}") } else { first }
    };
    let knock = Knock {
        path: request.uri().path(),
        host: text(header::HOST),
        authority: request.uri().authority().map(hyper::http::uri::Authority::as_str),
        origin: text(header::ORIGIN),
        authorization: text(header::AUTHORIZATION),
        preflight: request.method() == Method::OPTIONS,
    };
    let admitted = state.config.access.judge(&knock)?;
    Ok(admitted.allow_origin.and_then(|origin| HeaderValue::from_str(origin).ok()))
}

fn preflight(from_page: bool) -> Reply {
    let mut reply = Response::new(Payload::Whole(None));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    if from_page {
        let headers = reply.headers_mut();
        let allowed = "authorization, content-type, x-request-id, x-superfluid-deadline-ms, x-superfluid-qos";
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    reply
}

async fn dispatch(state: &State, request: Request<Incoming>, id: &str) -> Reply {
    let path = request.uri().path().to_string();
    let noted = |no: Refusal| {
        note(state, id, &path, &no);
        refusal(&no)
    };
    let (parts, body) = request.into_parts();
    let Some(place) = Place::of(&parts.method, parts.uri.path()) else {
        let path: String = path.chars().take(200).collect();
        return noted(
            Refusal::new(codes::NOT_FOUND, format!("there is no {} {path:?} here", parts.method))
                .hint("POST /v1/chat/completions, POST /v1/completions, GET /v1/models and GET /health are"),
        );
    };
    match (place, &parts.method) {
        (Place::Health, &Method::GET | &Method::HEAD) => health::answer(state),
        (Place::Ready, &Method::GET | &Method::HEAD) => health::ready(state),
        (Place::Metrics, &Method::GET | &Method::HEAD) => metrics::answer(state, &parts.headers),
        (Place::Models, &Method::GET | &Method::HEAD) => models::list(state),
        (Place::Model(name), &Method::GET | &Method::HEAD) => models::one(state, name).unwrap_or_else(noted),
        (Place::Generate(endpoint), &Method::POST) => {
            generate::answer(state, endpoint, &parts.headers, body, id).await.unwrap_or_else(noted)
        }
        (Place::Other(workload), &Method::POST) => noted(models::unserved(state, workload, body).await),
        (Place::Load, _) => admin::load(state, &parts.headers, body).await.unwrap_or_else(noted),
        (Place::Unload, _) => admin::unload(state, &parts.headers, body).await.unwrap_or_else(noted),
        _ => {
            let message = format!("{path} does not take {}", parts.method);
            let allowed = place.allows();
            let mut reply =
                noted(Refusal::new(codes::METHOD_NOT_ALLOWED, message).hint(format!("it takes {allowed}")));
            reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
            reply
        }
    }
}
