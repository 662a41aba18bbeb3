//! Which request is for whom.

use super::reply::{Payload, Reply, refusal};
use super::{State, admin, generate, health, models};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use superfluid_core::Refusal;
use superfluid_core::access::Knock;
use superfluid_core::api::{Endpoint, codes};
use superfluid_core::capability::Workload;

/// Where a path leads.
#[derive(Clone, Copy)]
enum Place<'a> {
    Health,
    Ready,
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
    let origin = match admit(state, &request) {
        Ok(origin) => origin,
        Err(denied) => return refusal(&denied),
    };
    let mut reply = match request.method() {
        &Method::OPTIONS => preflight(origin.is_some()),
        _ => dispatch(state, request).await,
    };
    let headers = reply.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    if !state.fleet.overview().serves {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if head {
        *reply.body_mut() = Payload::Whole(None);
    }
    reply
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
        let allowed = "authorization, content-type, x-superfluid-qos";
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    reply
}

async fn dispatch(state: &State, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let Some(place) = Place::of(&parts.method, path) else {
        let path: String = path.chars().take(200).collect();
        return refusal(
            &Refusal::new(codes::NOT_FOUND, format!("there is no {} {path:?} here", parts.method))
                .hint("POST /v1/chat/completions, POST /v1/completions, GET /v1/models and GET /health are"),
        );
    };
    match (place, &parts.method) {
        (Place::Health, &Method::GET | &Method::HEAD) => health::answer(state),
        (Place::Ready, &Method::GET | &Method::HEAD) => health::ready(state),
        (Place::Models, &Method::GET | &Method::HEAD) => models::list(state),
        (Place::Model(id), &Method::GET | &Method::HEAD) => models::one(state, id),
        (Place::Generate(endpoint), &Method::POST) => {
            generate::answer(state, endpoint, &parts.headers, body).await.unwrap_or_else(|no| refusal(&no))
        }
        (Place::Other(workload), &Method::POST) => refusal(&models::unserved(state, workload, body).await),
        (Place::Load, _) => admin::load(state, &parts.headers, body).await.unwrap_or_else(|no| refusal(&no)),
        (Place::Unload, _) => {
            admin::unload(state, &parts.headers, body).await.unwrap_or_else(|no| refusal(&no))
        }
        _ => {
            let message = format!("{path} does not take {}", parts.method);
            let allowed = place.allows();
            let mut reply = refusal(
                &Refusal::new(codes::METHOD_NOT_ALLOWED, message).hint(format!("it takes {allowed}")),
            );
            reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
            reply
        }
    }
}
