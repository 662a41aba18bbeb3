//! Which request is for whom: the one table of paths.

use super::{Endpoint, codes};
use crate::capability::Workload;
use crate::refusal::Refusal;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use percent_encoding::percent_decode_str;

/// Where a request leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Whether requests are served.
    Health,
    /// Whether requests may be sent.
    Ready,
    /// What is counted and measured.
    Metrics,
    /// The models.
    Models,
    /// One model, by its id.
    Model(String),
    /// Load the model that the body names.
    Load,
    /// Unload it.
    Unload,
    /// Answer a prompt.
    Generate(Endpoint),
    /// A part of the API that no runtime serves yet; each model's record says why.
    Unserved(Workload),
}

/// A request that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrouted {
    /// `not_found`, `method_not_allowed`, or `invalid_value` for a path that can't be decoded.
    pub refusal: Refusal,
    /// What the `Allow` header says, where the path takes other methods.
    pub allow: Option<String>,
}

const GET: &str = "GET, HEAD";
const POST: &str = "POST";
/// Stands for what is left of a path, slashes included: ids of the hub hold them.
const ID: &str = "{id}";

/// What `Allow` says, the path, and where it leads.
const TABLE: [(&str, &str, Route); 12] = [
    (POST, "/v1/chat/completions", Route::Generate(Endpoint::Chat)),
    (POST, "/v1/completions", Route::Generate(Endpoint::Completion)),
    (GET, "/v1/models", Route::Models),
    // Before the one with an id: a model may be called `load`, and is asked for with GET.
    (POST, "/v1/models/load", Route::Load),
    (POST, "/v1/models/unload", Route::Unload),
    (GET, "/v1/models/{id}", Route::Model(String::new())),
    (GET, "/health", Route::Health),
    (GET, "/ready", Route::Ready),
    (GET, "/metrics", Route::Metrics),
    (POST, "/v1/embeddings", Route::Unserved(Workload::Embeddings)),
    (POST, "/v1/audio/transcriptions", Route::Unserved(Workload::Transcription)),
    (POST, "/v1/audio/translations", Route::Unserved(Workload::Translation)),
];

impl Route {
    /// Where `method` on `path` (as it stands in the request, without its query) leads. Segments are
    /// percent-decoded one by one.
    ///
    /// # Errors
    /// Why it leads nowhere, and which methods the path takes.
    pub fn find(method: &str, path: &str) -> Result<Self, Unrouted> {
        let segments = path.split('/').map(decode).collect::<Result<Vec<_>, _>>();
        let segments = segments.map_err(|refusal| Unrouted { refusal, allow: None })?;
        let mut allowed = Vec::new();
        for (methods, pattern, route) in &TABLE {
            let Some(id) = matched(pattern, &segments) else { continue };
            if !methods.split(", ").any(|one| one == method) {
                allowed.push(*methods);
                continue;
            }
            return Ok(match route {
                Self::Model(_) => Self::Model(id),
                other => other.clone(),
            });
        }
        Err(if allowed.is_empty() { unknown(method, path) } else { not_allowed(method, path, &allowed) })
    }
}

/// What stands for the id; empty in a pattern that has none.
fn matched(pattern: &str, segments: &[Cow<'_, str>]) -> Option<String> {
    let mut wanted = pattern.split('/');
    for (at, segment) in segments.iter().enumerate() {
        match wanted.next()? {
            ID => return Some(segments[at..].join("/")).filter(|id| !id.is_empty()),
            word if word == segment => {}
            _ => return None,
        }
    }
    wanted.next().is_none().then(String::new)
}

/// A segment without its escapes.
fn decode(segment: &str) -> Result<Cow<'_, str>, Refusal> {
    let refuse = |what: String| {
        let hint = "a '%' in a path is written %25, and other bytes as UTF-8";
        Err(Refusal::new(codes::INVALID_VALUE, what).hint(hint))
    };
    let hex = |rest: &&str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if let Some(rest) = segment.split('%').skip(1).find(|rest| !hex(rest)) {
        let shown: String = rest.chars().take(2).collect();
        return refuse(format!("the path holds '%{shown}', which is no percent-escape"));
    }
    match percent_decode_str(segment).decode_utf8() {
        Ok(decoded) => Ok(decoded),
        Err(_) => refuse("the path's percent-escapes are no UTF-8".into()),
    }
}

fn unknown(method: &str, path: &str) -> Unrouted {
    let path: String = path.chars().take(200).collect();
    let all = TABLE.map(|(methods, path, _)| format!("{methods} {path}")).join("; ");
    let refusal = Refusal::new(codes::NOT_FOUND, format!("there is no {method} {path:?} here"));
    Unrouted { refusal: refusal.hint(format!("what there is: {all}")), allow: None }
}

fn not_allowed(method: &str, path: &str, allowed: &[&str]) -> Unrouted {
    let path: String = path.chars().take(200).collect();
    let allow = allowed.join(", ");
    let refusal = Refusal::new(codes::METHOD_NOT_ALLOWED, format!("{path} does not take {method}"));
    Unrouted { refusal: refusal.hint(format!("it takes {allow}")), allow: Some(allow) }
}
