//! `/v1/models`: the served model and what it can do.

use super::State;
use super::reply::{Reply, json, refusal};
use hyper::StatusCode;
use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::codes;

pub(super) fn list(state: &State) -> Reply {
    let body = json!({"object": "list", "data": [model(state)]});
    json(StatusCode::OK, body.to_string().into_bytes())
}

pub(super) fn one(state: &State, id: &str) -> Reply {
    if id == state.served.id {
        return json(StatusCode::OK, model(state).to_string().into_bytes());
    }
    let message = format!("the model {:?} is not served", id.chars().take(80).collect::<String>());
    let hint = format!("served: '{}'", state.served.id);
    refusal(&Refusal::new(codes::MODEL_NOT_FOUND, message).hint(hint).param("model"))
}

fn model(state: &State) -> Value {
    let served = &state.served;
    let mut model = json!({
        "id": served.id,
        "object": "model",
        "created": served.created,
        "owned_by": "superfluid",
        "runtime": served.runtime,
    });
    // While it loads the model is listed without what only the loaded one knows.
    if let Some(loaded) = served.worker.view().loaded {
        model["capabilities"] = Value::Object(loaded.record.0.clone());
        model["context_window"] = loaded.engine.seq_tokens.into();
        model["max_batch"] = loaded.engine.lanes.into();
        model["chat"] = loaded.chat.into();
        model["description"] = loaded.description.clone().into();
    }
    model
}
