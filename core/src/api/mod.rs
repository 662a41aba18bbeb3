//! OpenAI request and response shapes, parsed and bounded, errors in its envelope.
//!
//! In: [`parse_chat`] and [`parse_completion`] turn a body into a [`Request`], which becomes a
//! [`Submit`](crate::wire::Submit) for the worker. Out: a [`Refusal`](crate::Refusal) becomes an
//! [`ErrorReply`], and a worker's messages about one job go through a [`Reply`], which says which bytes
//! to write.
//!
//! # What is refused
//!
//! `null` is "not given" everywhere. A parameter that would change the answer and is not supported
//! is a 400 `unsupported_parameter` that names it, and so is one nobody knows: as the OpenAI API
//! does, and unlike servers that ignore it, since a mistyped or unsupported parameter that is
//! silently ignored gives a wrong answer with status 200. Parameters without influence on the
//! answer (`user`, `metadata`, `store`, …) are accepted and ignored, and so is what nobody knows
//! inside a conversation.

mod body;
mod chat;
mod choice;
mod completion;
mod error;
mod fields;
mod headers;
mod json;
mod logprobs;
mod messages;
mod models;
mod paths;
mod reply;
mod request;
mod routes;
mod sampling;
mod sse;

pub use chat::parse_chat;
pub use completion::parse_completion;
pub use error::{ErrorReply, codes, unreadable};
pub use headers::{
    check_content_encoding, check_content_type, parse_class, parse_deadline, request_id, wants_openmetrics,
};
pub use json::{Bounds, HEAD_BYTES, HEAD_FIELDS, parse_object};
pub use models::{ModelCard, model_card, model_list, parse_model};
pub use paths::without_paths;
pub use reply::{KEEP_ALIVE, Output, Reply, START_WITHIN, Wake};
pub use request::{Endpoint, Media, Request};
pub use routes::{Route, Unrouted};
