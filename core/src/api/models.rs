//! `/v1/models`.

use super::Bounds;
use super::fields::Fields;
use super::json::{parse_object, to_bytes};
use super::paths::without_paths;
use super::request::take_model;
use crate::capability::Record;
use crate::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde_json::{Map, Value};

/// One served model, as `/v1/models` lists it.
#[derive(Clone, Copy, Debug)]
pub struct ModelCard<'a> {
    /// The id that requests name.
    pub id: &'a str,
    /// When it was loaded, seconds since 1970.
    pub created: u64,
    /// Where it stands: `loaded`, `unloaded`, ….
    pub state: &'a str,
    /// What it can do; `None` until it was loaded once.
    pub record: Option<&'a Record>,
    /// Tokens one request's prompt and reply can have together; `None` until it was loaded
    /// once.
    pub context_window: Option<u32>,
}

#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Map<String, Value>>,
}

impl<'a> From<&ModelCard<'a>> for Model<'a> {
    fn from(card: &ModelCard<'a>) -> Self {
        let capabilities = card.record.map(|record| {
            let mut map = record.0.clone();
            map.values_mut().for_each(strip);
            map
        });
        let ModelCard { id, created, state, context_window, .. } = *card;
        Self { id, object: "model", created, owned_by: "superfluid", state, context_window, capabilities }
    }
}

/// The body of `GET /v1/models`.
pub fn model_list(cards: &[ModelCard<'_>]) -> Vec<u8> {
    #[derive(Serialize)]
    struct List<'a> {
        object: &'static str,
        data: Vec<Model<'a>>,
    }
    to_bytes(&List { object: "list", data: cards.iter().map(Model::from).collect() })
}

/// The body of `GET /v1/models/{id}`.
pub fn model_card(card: &ModelCard<'_>) -> Vec<u8> {
    to_bytes(&Model::from(card))
}

/// The one model that a body `{"model": "…"}` names, which must be one of `served`.
///
/// # Errors
/// `body_too_large`, `invalid_json`, `invalid_type`, `missing_required_parameter`, `model_not_found`,
/// `unsupported_parameter`.
pub fn parse_model(body: &[u8], bounds: &Bounds, served: &[&str]) -> Result<String, Refusal> {
    let mut fields = Fields::top(parse_object(body, bounds)?);
    let model = take_model(&mut fields, served)?;
    fields.refuse_rest()?;
    Ok(model)
}

/// A runtime's reasons may name its files.
fn strip(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_paths(text),
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(map) => map.values_mut().for_each(strip),
        _ => {}
    }
}
