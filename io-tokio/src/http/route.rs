//! From a request to who answers it.

use super::reply::{Payload, Reply, refusal};
use super::{State, admin, entry, generate, health, metrics, models};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use superfluid_core::Refusal;
use superfluid_core::access::{Knock, allowed_headers};
use superfluid_core::api::{self, Route, Unrouted};

/// Answers one request.
pub(super) async fn answer(state: &State, request: Request<Incoming>) -> Reply {
    let head = request.method() == Method::HEAD;
    let given = request.headers().get("x-request-id").map(HeaderValue::as_bytes);
    let id = match api::request_id(given) {
        Some(id) => id.to_string(),
        None => format!("req-{:016x}", generate::random()),
    };
    let origin = state.config.access.allow_origin(text(&request, &header::ORIGIN));
    let origin = origin.and_then(|origin| HeaderValue::from_str(origin).ok());
    let mut reply = match admit(state, &request) {
        Err(denied) => {
            note(state, &id, request.uri().path(), &denied);
            refusal(&denied)
        }
        Ok(()) if request.method() == Method::OPTIONS => preflight(origin.is_some(), &request),
        Ok(()) => dispatch(state, request, &id).await,
    };
    let headers = reply.headers_mut();
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
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

/// A header that decides who may come in. One that is no text, or comes twice, is one that no honest
/// client sends.
fn text<'a>(request: &'a Request<Incoming>, name: &HeaderName) -> Option<&'a str> {
    let mut all = request.headers().get_all(name).iter();
    let first = all.next().map(|value| value.to_str().unwrap_or("\u{fffd}"));
    if all.next().is_some() { Some("\u{fffd}") } else { first }
}

fn admit(state: &State, request: &Request<Incoming>) -> Result<(), Refusal> {
    state.config.access.judge(&Knock {
        path: request.uri().path(),
        host: text(request, &header::HOST),
        authority: request.uri().authority().map(hyper::http::uri::Authority::as_str),
        origin: text(request, &header::ORIGIN),
        authorization: text(request, &header::AUTHORIZATION),
        preflight: request.method() == Method::OPTIONS,
    })
}

fn preflight(from_page: bool, request: &Request<Incoming>) -> Reply {
    let mut reply = Response::new(Payload::Whole(None));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    if from_page {
        let allowed = allowed_headers(text(request, &header::ACCESS_CONTROL_REQUEST_HEADERS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        if let Ok(allowed) = HeaderValue::from_str(allowed) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("access-control-request-headers"));
    reply
}

async fn dispatch(state: &State, request: Request<Incoming>, id: &str) -> Reply {
    let path = request.uri().path().to_string();
    let noted = |no: Refusal| {
        note(state, id, &path, &no);
        refusal(&no)
    };
    let (parts, body) = request.into_parts();
    let route = match Route::find(parts.method.as_str(), &path) {
        Ok(route) => route,
        Err(Unrouted { refusal, allow }) => {
            let mut reply = noted(refusal);
            if let Some(allow) = allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
                reply.headers_mut().insert(header::ALLOW, allow);
            }
            return reply;
        }
    };
    match route {
        Route::Health => health::answer(state),
        Route::Ready => health::ready(state),
        Route::Metrics => metrics::answer(state, &parts.headers),
        Route::Models => models::list(state),
        Route::Model(name) => models::one(state, &name).unwrap_or_else(noted),
        Route::Generate(endpoint) => {
            generate::answer(state, endpoint, &parts.headers, body, id).await.unwrap_or_else(noted)
        }
        Route::Unserved(workload) => noted(models::unserved(state, workload, &parts.headers, body).await),
        Route::Load => admin::load(state, &parts.headers, body).await.unwrap_or_else(noted),
        Route::Unload => admin::unload(state, &parts.headers, body).await.unwrap_or_else(noted),
    }
}
