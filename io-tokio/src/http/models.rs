//! `/v1/models`: the served model and what it can do.

use super::State;
use super::reply::{Reply, json, refusal};
use hyper::StatusCode;
use superfluid_core::Refusal;
use superfluid_core::api::{ModelCard, codes, model_card, model_list};

pub(super) fn list(state: &State) -> Reply {
    json(StatusCode::OK, with_card(state, |card| model_list(&[card])))
}

pub(super) fn one(state: &State, id: &str) -> Reply {
    if id == state.served.id {
        return json(StatusCode::OK, with_card(state, |card| model_card(&card)));
    }
    let message = format!("the model {:?} is not served", id.chars().take(80).collect::<String>());
    let hint = format!("served: '{}'", state.served.id);
    refusal(&Refusal::new(codes::MODEL_NOT_FOUND, message).hint(hint).param("model"))
}

fn with_card(state: &State, body: impl FnOnce(ModelCard<'_>) -> Vec<u8>) -> Vec<u8> {
    let served = &state.served;
    let loaded = served.worker.view().loaded;
    body(ModelCard {
        id: &served.id,
        created: served.created,
        record: loaded.as_ref().map(|loaded| &loaded.record),
        context_window: loaded.as_ref().map(|loaded| loaded.engine.seq_tokens),
    })
}
