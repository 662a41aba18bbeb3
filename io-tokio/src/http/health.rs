//! `/health`: 200 when requests are served, 503 and why when not.

use super::State;
use super::reply::{Reply, json};
use hyper::StatusCode;
use serde_json::json;
use superfluid_core::supervise::Status;

pub(super) fn answer(state: &State) -> Reply {
    let view = state.served.worker.view();
    let (status, word, reason) = match view.status {
        Status::Ready => (StatusCode::OK, "ready", None),
        Status::Installing => {
            (StatusCode::SERVICE_UNAVAILABLE, "installing", Some("the runtime is being installed"))
        }
        Status::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting", Some("the worker is starting")),
        Status::Loading { .. } => (StatusCode::SERVICE_UNAVAILABLE, "loading", Some("the model is loading")),
        Status::Restarting => (
            StatusCode::SERVICE_UNAVAILABLE,
            "restarting",
            Some("the worker died and is being restarted; requests wait for it"),
        ),
        Status::Draining | Status::Stopped => {
            (StatusCode::SERVICE_UNAVAILABLE, "draining", Some("the server is shutting down"))
        }
        Status::Failed => (StatusCode::SERVICE_UNAVAILABLE, "failed", Some("the worker failed")),
    };
    let mut body = json!({
        "status": word,
        "model": state.served.id,
        "requests": view.jobs,
        "running": view.stats.running,
        "waiting": view.stats.waiting,
        "restarts": view.lives.saturating_sub(1),
    });
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    if let Status::Loading { permille } = view.status {
        body["progress"] = (f64::from(permille) / 1000.0).into();
    }
    json(status, body.to_string().into_bytes())
}
