//! `/v1/models`: the served models and what they can do.

use super::reply::{Reply, json};
use super::{State, body};
use crate::fleet::{Model, ModelView};
use crate::worker::View;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use superfluid_core::Refusal;
use superfluid_core::api::{ModelCard, codes, model_card, model_list, parse_object};
use superfluid_core::capability::{Workload, validate_workload};

pub(super) fn list(state: &State) -> Reply {
    let views = views(state);
    let cards: Vec<_> = views.iter().map(|(model, view, worker)| card_of(model, view, worker)).collect();
    json(StatusCode::OK, model_list(&cards))
}

pub(super) fn one(state: &State, id: &str) -> Result<Reply, Refusal> {
    if state.fleet.models().iter().any(|model| model.id == id) {
        return Ok(json(StatusCode::OK, card(state, id)));
    }
    let message = format!("the model {:?} is not served", id.chars().take(80).collect::<String>());
    let served: Vec<_> = ids(state).iter().map(|id| format!("'{id}'")).collect();
    let hint = format!("served: {}", served.join(", "));
    Err(Refusal::new(codes::MODEL_NOT_FOUND, message).hint(hint).param("model"))
}

/// The card of a served model.
pub(super) fn card(state: &State, id: &str) -> Vec<u8> {
    let views = views(state);
    let of = views.iter().find(|(model, ..)| model.id == id);
    of.map(|(model, view, worker)| model_card(&card_of(model, view, worker))).unwrap_or_default()
}

/// The ids of every model.
pub(super) fn ids(state: &State) -> Vec<&str> {
    state.fleet.models().iter().map(|model| model.id.as_str()).collect()
}

/// Why the model a request names does not serve it; where it names none, why the first one does not.
pub(super) async fn unserved(
    state: &State,
    workload: Workload,
    headers: &HeaderMap,
    body: Incoming,
) -> Refusal {
    let named = match body::read(state, headers, body).await {
        Ok(whole) => parse_object(&whole.bytes, &state.config.bounds).ok(),
        Err(no) => return no,
    };
    let named = named.as_ref().and_then(|fields| fields.get("model")?.as_str());
    let views = views(state);
    let of = views.iter().find(|(model, ..)| Some(model.id.as_str()) == named).or_else(|| views.first());
    let Some((model, _, worker)) = of else {
        return Refusal::new(codes::MODEL_NOT_FOUND, "no model is served").param("model");
    };
    let id = &model.id;
    let refused = match worker.as_ref().and_then(|worker| worker.loaded.as_ref()) {
        Some(loaded) => validate_workload(&loaded.record, id, workload),
        None => return Refusal::new(codes::MODEL_LOADING, format!("the model '{id}' is not loaded yet")),
    };
    refused.err().unwrap_or_else(|| {
        Refusal::new(codes::UNSUPPORTED_MODEL, format!("model '{id}' is served for text generation only"))
            .param("model")
    })
}

/// Each model, where it stands, and where its worker does.
pub(super) fn views(state: &State) -> Vec<(&Model, ModelView, Option<View>)> {
    let views = state.fleet.overview().models.clone();
    let models = state.fleet.models().iter().zip(views);
    models
        .map(|(model, view)| {
            let worker = view.worker.as_ref().map(crate::worker::Worker::view);
            (model, view, worker)
        })
        .collect()
}

fn card_of<'a>(model: &'a Model, view: &ModelView, worker: &'a Option<View>) -> ModelCard<'a> {
    let loaded = worker.as_ref().and_then(|worker| worker.loaded.as_ref());
    ModelCard {
        id: &model.id,
        created: model.created,
        state: view.standing.word(),
        record: loaded.map(|loaded| &loaded.record),
        context_window: loaded.map(|loaded| loaded.engine.seq_tokens),
    }
}
