//! Golden event streams, byte for byte.

use super::reply::{T0, USAGE, chat_reply, completion_reply, drain, update};
use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::Reply;
use superfluid_core::sched::{Finish, JobId};
use superfluid_core::wire::{JobUpdate, TokenLogprob};

/// A stream of these pieces of text, ended well.
fn stream(mut reply: Reply, pieces: &[&str], finish: Finish) -> String {
    reply.handle_accepted(0, T0).unwrap();
    for piece in pieces {
        reply.handle_update(0, &update(piece), T0).unwrap();
    }
    reply.handle_finished(0, finish, USAGE, T0).unwrap();
    whole(&mut reply)
}

fn whole(reply: &mut Reply) -> String {
    let (status, body, ended) = drain(reply);
    assert_eq!((status, ended), (Some(200), true));
    check(&body);
    body
}

/// What every chat or text stream must be, whatever it says.
fn check(body: &str) {
    let events: Vec<&str> = body.strip_suffix("\n\n").unwrap().split("\n\n").collect();
    let terminals =
        events.iter().filter(|event| event.starts_with("data: {\"error\"") || **event == "data: [DONE]");
    assert_eq!(terminals.count(), 1);
    let chunks: Vec<Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
        .filter(|chunk: &Value| chunk.get("error").is_none())
        .collect();
    for (index, chunk) in chunks.iter().enumerate() {
        for same in ["id", "created", "model", "object"] {
            assert_eq!(chunk[same], chunks[0][same]);
        }
        for choice in chunk["choices"].as_array().unwrap() {
            assert!(choice.as_object().unwrap().contains_key("finish_reason"));
            if let Some(delta) = choice.get("delta") {
                assert_eq!(delta.get("role").is_some(), index == 0);
                assert!(choice["finish_reason"].is_null() || *delta == json!({}));
            }
        }
    }
}

fn streamed(extra: &Value) -> Reply {
    let mut all = json!({"stream": true});
    super::overlay(&mut all, extra);
    chat_reply(&all)
}

#[test]
fn case_s09_a_normal_stream() {
    insta::assert_snapshot!(stream(streamed(&json!({})), &["He", "", "llo\n", "\u{1f60a}"], Finish::Stop));
}

#[test]
fn case_s09_an_empty_answer() {
    insta::assert_snapshot!(stream(streamed(&json!({})), &[""], Finish::Stop));
}

#[test]
fn case_s09_one_token() {
    insta::assert_snapshot!(stream(streamed(&json!({})), &["Hi"], Finish::Length));
}

#[test]
fn case_s09_stop_at_once() {
    insta::assert_snapshot!(stream(streamed(&json!({})), &[], Finish::Stop));
}

#[test]
fn case_s07_usage_comes_last_and_only_where_asked_for() {
    let asked = json!({"stream_options": {"include_usage": true}});
    insta::assert_snapshot!(stream(streamed(&asked), &["Hi"], Finish::Stop));
    let not = stream(streamed(&json!({"stream_options": {"include_usage": false}})), &["Hi"], Finish::Stop);
    assert!(!not.contains("usage"));
}

#[test]
fn case_s07_a_text_stream_with_usage() {
    let reply = completion_reply(&json!({"stream": true, "stream_options": {"include_usage": true}}));
    insta::assert_snapshot!(stream(reply, &["He", "llo"], Finish::Stop));
}

#[test]
fn case_s05_an_error_in_the_middle_of_a_stream() {
    let mut reply = streamed(&json!({"stream_options": {"include_usage": true}}));
    reply.handle_accepted(0, T0).unwrap();
    reply.handle_update(0, &update("Once"), T0).unwrap();
    let refusal = Refusal::new("worker_failed", "the mock worker died while this request was running")
        .hint("see /home/ann/.superfluid/log");
    reply.handle_failed(0, &refusal, T0).unwrap();
    insta::assert_snapshot!(whole(&mut reply));
}

#[test]
fn case_s11_a_stream_with_log_probabilities() {
    let mut reply = streamed(&json!({"logprobs": true}));
    reply.handle_accepted(0, T0).unwrap();
    let entry = |bytes: &[u8]| TokenLogprob { bytes: bytes.to_vec(), logprob: -0.1, top: vec![] };
    let say = |text: &str, logprobs: Vec<TokenLogprob>| JobUpdate {
        id: JobId(1),
        tokens: vec![],
        text: text.into(),
        logprobs,
        held: vec![],
    };
    reply.handle_update(0, &say("\u{8d4b}", vec![entry(b"\xe8\xb5"), entry(b"\x8b")]), T0).unwrap();
    // Text whose token is not whole yet, then entries of tokens that were given up.
    reply.handle_update(0, &say("a", vec![]), T0).unwrap();
    reply.handle_update(0, &say("", vec![entry(b"a\n"), entry(b"User:")]), T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    insta::assert_snapshot!(whole(&mut reply));
}
