//! OpenAI requests and replies.
mod bodies;
mod errors;
mod headers;
mod messages;
mod parameters;
mod play;
mod prompts;
mod props;
mod ranges;
mod reply;
mod routes;
mod snapshots;

use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::{Bounds, Request, parse_chat, parse_completion};

const SERVED: &[&str] = &["mock"];

/// A chat body with `extra` put over the least there must be.
fn chat_body(extra: &Value) -> Vec<u8> {
    let mut body = json!({"model": "mock", "messages": [{"role": "user", "content": "hi"}]});
    overlay(&mut body, extra);
    body.to_string().into_bytes()
}

fn completion_body(extra: &Value) -> Vec<u8> {
    let mut body = json!({"model": "mock", "prompt": "hi"});
    overlay(&mut body, extra);
    body.to_string().into_bytes()
}

fn overlay(body: &mut Value, extra: &Value) {
    for (name, value) in extra.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
}

fn chat(extra: &Value) -> Result<Request, Refusal> {
    parse_chat(&chat_body(extra), &Bounds::default(), SERVED)
}

fn completion(extra: &Value) -> Result<Request, Refusal> {
    parse_completion(&completion_body(extra), &Bounds::default(), SERVED)
}

/// Both endpoints refuse `extra` with this code, and say which parameter it is about.
fn both_refuse(extra: &Value, code: &str, param: &str) {
    for result in [chat(extra), completion(extra)] {
        refuses(result, code, param, extra);
    }
}

fn refuses(result: Result<Request, Refusal>, code: &str, param: &str, given: &Value) {
    let refusal = result.expect_err(&format!("{given} was accepted"));
    assert_eq!((refusal.code.as_str(), refusal.param.as_deref()), (code, Some(param)), "{given}: {refusal}");
}
