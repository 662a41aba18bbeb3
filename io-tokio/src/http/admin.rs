//! `POST /v1/models/load` and `POST /v1/models/unload`.

use super::reply::{Reply, json};
use super::{State, body, models};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use superfluid_core::Refusal;
use superfluid_core::api;

/// Answers with the model's card once it is loaded.
pub(super) async fn load(state: &State, headers: &HeaderMap, body: Incoming) -> Result<Reply, Refusal> {
    let model = named(state, headers, body).await?;
    state.fleet.load(&model).await?;
    Ok(json(StatusCode::OK, models::card(state, &model)))
}

/// Answers with the model's card once it is gone.
pub(super) async fn unload(state: &State, headers: &HeaderMap, body: Incoming) -> Result<Reply, Refusal> {
    let model = named(state, headers, body).await?;
    state.fleet.unload(&model).await?;
    Ok(json(StatusCode::OK, models::card(state, &model)))
}

async fn named(state: &State, headers: &HeaderMap, body: Incoming) -> Result<String, Refusal> {
    api::check_content_type(headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes))?;
    let whole = body::read(state, headers, body).await?;
    api::parse_model(&whole.bytes, &state.config.bounds, &models::ids(state))
}
