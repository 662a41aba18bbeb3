//! The reply machine: one head, one terminal, whatever comes.

use serde_json::{Value, json};
use superfluid_core::api::{KEEP_ALIVE, Output, Reply, START_WITHIN, Wake};
use superfluid_core::sched::{Finish, JobId, Usage};
use superfluid_core::wire::{JobUpdate, TokenLogprob, TopLogprob};
use superfluid_core::{Instant, Misuse, Refusal};

pub(super) const USAGE: Usage = Usage { prompt: 7, cached: 4, completion: 3 };
pub(super) const T0: Instant = Instant::from_millis(1000);

pub(super) fn update(text: &str) -> JobUpdate {
    JobUpdate { id: JobId(1), tokens: vec![1], text: text.into(), logprobs: vec![], held: vec![] }
}

pub(super) fn chat_reply(extra: &Value) -> Reply {
    Reply::new(&super::chat(extra).unwrap(), "1", 1_700_000_000, T0)
}

pub(super) fn completion_reply(extra: &Value) -> Reply {
    Reply::new(&super::completion(extra).unwrap(), "1", 1_700_000_000, T0)
}

/// Status, body, and whether the end came.
pub(super) fn drain(reply: &mut Reply) -> (Option<u16>, String, bool) {
    let (mut status, mut body, mut ended) = (None, Vec::new(), false);
    while let Some(output) = reply.poll_output() {
        assert!(!ended, "output after the end");
        match output {
            Output::Head { status: head, .. } => assert_eq!(status.replace(head), None),
            Output::Bytes(bytes) => body.extend(bytes),
            Output::End => ended = true,
        }
    }
    reply.check_invariants().unwrap();
    (status, String::from_utf8(body).unwrap(), ended)
}

fn logprob(bytes: &[u8], logprob: f32, top: &[(&[u8], f32)]) -> TokenLogprob {
    let top = top.iter().map(|(bytes, logprob)| TopLogprob { bytes: bytes.to_vec(), logprob: *logprob });
    TokenLogprob { bytes: bytes.to_vec(), logprob, top: top.collect() }
}

#[test]
fn a_whole_chat_reply() {
    let mut reply = chat_reply(&json!({}));
    reply.handle_accepted(0, T0).unwrap();
    for text in ["He", "", "llo"] {
        reply.handle_update(0, &update(text), T0).unwrap();
    }
    assert_eq!(drain(&mut reply), (None, String::new(), false));
    assert_eq!(reply.poll_timeout(), None);
    reply.handle_finished(0, Finish::Length, USAGE, T0).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (Some(200), true));
    assert_eq!(
        body,
        concat!(
            r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"mock","#,
            r#""choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"#,
            r#""logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"#,
            r#""total_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}}"#
        )
    );
}

#[test]
fn a_whole_text_completion() {
    let mut reply = completion_reply(&json!({}));
    reply.handle_update(0, &update("Hello"), T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    assert_eq!(
        drain(&mut reply).1,
        concat!(
            r#"{"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"mock","#,
            r#""choices":[{"index":0,"text":"Hello","logprobs":null,"finish_reason":"stop"}],"#,
            r#""usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"#,
            r#""prompt_tokens_details":{"cached_tokens":4}}}"#
        )
    );
}

#[test]
fn what_the_worker_refuses_before_it_accepts_is_a_plain_error() {
    for stream in [true, false] {
        let mut reply = chat_reply(&json!({ "stream": stream }));
        let refusal = Refusal::new("context_length_exceeded", "too long").param("messages");
        reply.handle_failed(0, &refusal, T0).unwrap();
        let (status, body, ended) = drain(&mut reply);
        assert_eq!((status, ended), (Some(400), true));
        assert_eq!(
            serde_json::from_str::<Value>(&body).unwrap()["error"],
            json!({"message": "too long", "type": "invalid_request_error", "param": "messages",
                "code": "context_length_exceeded"})
        );
    }
    let mut reply = chat_reply(&json!({"stream": true}));
    reply.handle_failed(0, &Refusal::new("overloaded", "full"), T0).unwrap();
    assert_eq!(
        reply.poll_output(),
        Some(Output::Head { status: 429, content_type: "application/json", retry_after: Some(1) })
    );
}

#[test]
fn case_s05_a_failed_whole_reply_is_an_error_and_no_cut_answer() {
    let mut reply = chat_reply(&json!({}));
    reply.handle_accepted(0, T0).unwrap();
    reply.handle_update(0, &update("half an ans"), T0).unwrap();
    reply.handle_failed(0, &Refusal::new("worker_failed", "the worker died"), T0).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (Some(500), true));
    assert!(!body.contains("half"));
}

#[test]
fn case_s05_a_cancelled_job_is_an_error_for_whoever_still_listens() {
    let mut reply = chat_reply(&json!({"stream": true}));
    reply.handle_accepted(0, T0).unwrap();
    reply.handle_finished(0, Finish::Cancelled, USAGE, T0).unwrap();
    let (_, body, ended) = drain(&mut reply);
    assert!(ended && body.contains(r#""code":"cancelled""#) && !body.contains("[DONE]"));
}

#[test]
fn case_s10_a_stream_starts_at_once_and_is_never_silent() {
    let mut reply = chat_reply(&json!({"stream": true}));
    assert_eq!(reply.poll_timeout(), Some((T0 + START_WITHIN, Wake::Start)));
    // Not yet.
    reply.handle_timeout(T0).unwrap();
    assert!(!reply.is_started());
    reply.handle_timeout(T0 + START_WITHIN).unwrap();
    let (status, body, _) = drain(&mut reply);
    assert_eq!(status, Some(200));
    assert!(body.contains(r#""role":"assistant""#));
    // Sixty seconds of prefill: a comment each time the line was silent for long, no other event.
    let mut comments = 0;
    while let Some((at, wake)) = reply.poll_timeout()
        && at < T0 + START_WITHIN + KEEP_ALIVE * 6
    {
        assert_eq!(wake, Wake::KeepAlive);
        reply.handle_timeout(at).unwrap();
        assert_eq!(drain(&mut reply).1, ": keep-alive\n\n");
        comments += 1;
    }
    assert_eq!(comments, 5);
    // Late acceptance changes nothing, and an error is an event now.
    let late = T0 + KEEP_ALIVE * 6;
    reply.handle_accepted(0, late).unwrap();
    assert_eq!(drain(&mut reply), (None, String::new(), false));
    reply.handle_failed(0, &Refusal::new("template_error", "no"), late).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (None, true));
    assert!(body.starts_with("data: {\"error\":"));
    assert_eq!(reply.poll_timeout(), None);
}

#[test]
fn text_puts_the_next_comment_off_and_a_clock_that_jumps_back_is_held() {
    let mut reply = completion_reply(&json!({"stream": true}));
    reply.handle_accepted(0, T0).unwrap();
    let later = T0 + KEEP_ALIVE / 2;
    reply.handle_update(0, &update("x"), later).unwrap();
    assert_eq!(reply.poll_timeout(), Some((later + KEEP_ALIVE, Wake::KeepAlive)));
    reply.handle_update(0, &update("y"), T0).unwrap();
    assert_eq!(reply.poll_timeout(), Some((later + KEEP_ALIVE, Wake::KeepAlive)));
}

#[test]
fn nothing_is_taken_after_the_end() {
    let mut reply = chat_reply(&json!({}));
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    drain(&mut reply);
    let over = Err(Misuse::State("the reply is over"));
    assert_eq!(reply.handle_accepted(0, T0), over);
    assert_eq!(reply.handle_update(0, &update("x"), T0), over);
    assert_eq!(reply.handle_finished(0, Finish::Stop, USAGE, T0), over);
    assert_eq!(reply.handle_failed(0, &Refusal::new("x", "y"), T0), over);
    assert_eq!(reply.handle_timeout(T0), over);
    assert!(reply.is_over());
    assert_eq!(reply.poll_output(), None);
}

#[test]
fn case_s11_bytes_of_log_probabilities_are_the_tokens_own() {
    let entries = vec![
        logprob(b"\xf0\x9f", -0.5, &[(b"\xf0\x9f", -0.5), (b"a", -1.25)]),
        logprob(b"\x98\x8a", -0.0, &[]),
        logprob(b"!", f32::NEG_INFINITY, &[(b"\xff", -1.0), (b"\xfe", -2.0)]),
    ];
    let update = JobUpdate { logprobs: entries, ..update("\u{1f60a}!") };
    let mut reply = chat_reply(&json!({"logprobs": true, "top_logprobs": 2}));
    reply.handle_update(0, &update, T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    let body: Value = serde_json::from_str(&drain(&mut reply).1).unwrap();
    let content = body["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let bytes: Vec<u8> = content
        .iter()
        .flat_map(|entry| entry["bytes"].as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8))
        .collect();
    assert_eq!(bytes, "\u{1f60a}!".as_bytes());
    assert_eq!(content[0]["top_logprobs"][1], json!({"token": "a", "logprob": -1.25, "bytes": [97]}));
    assert_eq!(content[2]["logprob"], json!(-9999.0));

    let mut reply = completion_reply(&json!({"logprobs": 2}));
    reply.handle_update(0, &update, T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    let body: Value = serde_json::from_str(&drain(&mut reply).1).unwrap();
    let logprobs = &body["choices"][0]["logprobs"];
    assert_eq!(logprobs["text_offset"], json!([0, 0, 1]));
    assert_eq!(logprobs["token_logprobs"], json!([-0.5, -0.0, -9999.0]));
    assert_eq!(logprobs["tokens"], json!(["bytes:\\xf0\\x9f", "bytes:\\x98\\x8a", "!"]));
    assert_eq!(
        logprobs["top_logprobs"],
        json!([
            {"bytes:\\xf0\\x9f": -0.5, "a": -1.25},
            {},
            {"bytes:\\xff": -1.0, "bytes:\\xfe": -2.0, "!": -9999.0},
        ])
    );
}

#[test]
fn alternatives_that_look_alike_are_kept_apart_and_the_chosen_one_has_its_own_value() {
    let newline: &[(&[u8], f32)] =
        &[(b"\n", -0.5), (b"\n", -1.5), (b"\n", -2.5), (b"\n", -3.5), (b"\xe2\\ \x80", -4.0)];
    for (bytes, chosen, key, all) in [
        // One of several with the same bytes.
        (&b"\n"[..], -1.5, "\n", 5),
        // None of the likeliest, one of which has its bytes.
        (b"\n", -6.25, "\n", 6),
        (b"\xe2", -6.25, "bytes:\\xe2", 6),
        (b"\xe2\\ \x80", -4.0, "bytes:\\xe2\\x5c \\x80", 5),
        // A text that reads like the bytes of another.
        (b"bytes:\\x0a", -7.0, "bytes:\\x0a", 6),
    ] {
        let mut reply = completion_reply(&json!({"logprobs": 5}));
        let update = JobUpdate { logprobs: vec![logprob(bytes, chosen, newline)], ..update("x") };
        reply.handle_update(0, &update, T0).unwrap();
        reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
        let body: Value = serde_json::from_str(&drain(&mut reply).1).unwrap();
        let logprobs = &body["choices"][0]["logprobs"];
        assert_eq!(logprobs["tokens"][0], key);
        let top = logprobs["top_logprobs"][0].as_object().unwrap();
        assert_eq!((top.len(), &top[key]), (all, &json!(chosen)), "{top:?}");
        for (_, value) in newline {
            assert!(top.values().any(|shown| *shown == json!(value)), "{value} is not in {top:?}");
        }
    }
}
