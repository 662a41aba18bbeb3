//! The words for why a request does not go to its model.

use crate::api::codes;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub(super) fn unknown<'a>(id: &str, ids: impl Iterator<Item = &'a str>) -> Refusal {
    let list: Vec<String> = ids.map(|id| format!("'{id}'")).collect();
    let list = if list.is_empty() {
        "no model is served".to_string()
    } else {
        format!("served: {}", list.join(", "))
    };
    let id: String = id.chars().take(80).collect();
    Refusal::new(codes::MODEL_NOT_FOUND, format!("the model {id:?} is not served")).hint(list).param("model")
}

pub(super) fn loading() -> Refusal {
    Refusal::new(codes::MODEL_LOADING, "the model is still loading")
        .hint("GET /health answers 200 when it is ready")
}

pub(super) fn draining() -> Refusal {
    Refusal::new(codes::SHUTTING_DOWN, "the server is shutting down and takes no new requests")
}

pub(super) fn full(id: &str, waiting: usize) -> Refusal {
    Refusal::new(codes::OVERLOADED, format!("{waiting} requests wait for the model '{id}' to be loaded"))
        .hint("send the request again later")
}

pub(super) fn late() -> Refusal {
    Refusal::new(codes::DEADLINE_EXCEEDED, "the request's deadline passed while it waited for its model")
}

pub(super) fn unloaded(id: &str) -> Refusal {
    Refusal::new(codes::CANCELLED, format!("the model '{id}' was unloaded while this waited for it"))
}

/// A load that did not come up. What the model can never do is told as it is.
pub(super) fn not_loaded(id: &str, why: &Refusal) -> Refusal {
    if why.code == codes::UNSUPPORTED_RUNTIME {
        return why.clone();
    }
    let message = format!("the model '{id}' can't be loaded: {}", why.message);
    let refusal = Refusal::new(codes::MODEL_UNAVAILABLE, message);
    why.hints.iter().fold(refusal, |refusal, hint| refusal.hint(hint.clone()))
}

/// A load that was up and is given up.
pub(super) fn given_up(id: &str, why: &Refusal) -> Refusal {
    Refusal::new(
        codes::MODEL_FAILED,
        format!("the model '{id}' failed and is not restarted: {}", why.message),
    )
    .hint("POST /v1/models/load loads it again")
}
