//! Refusals as HTTP clients see them.

use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::{ErrorReply, ModelCard, codes, model_card, model_list, unreadable};
use superfluid_core::capability::{Leaf, Record};

fn message(text: &str) -> String {
    ErrorReply::new(&Refusal::new("internal_error", text)).message
}

#[test]
fn a_code_is_a_status_and_a_type() {
    for (code, status, kind, retry_after) in [
        (codes::CONTEXT_LENGTH_EXCEEDED, 400, "invalid_request_error", None),
        (codes::UNSUPPORTED_INPUT, 400, "invalid_request_error", None),
        (codes::TEMPLATE_ERROR, 400, "invalid_request_error", None),
        (codes::INVALID_API_KEY, 401, "invalid_request_error", None),
        (codes::FORBIDDEN, 403, "invalid_request_error", None),
        (codes::MODEL_NOT_FOUND, 404, "invalid_request_error", None),
        (codes::METHOD_NOT_ALLOWED, 405, "invalid_request_error", None),
        (codes::BODY_TOO_LARGE, 413, "invalid_request_error", None),
        (codes::UNSUPPORTED_ENCODING, 415, "invalid_request_error", None),
        (codes::OVERLOADED, 429, "overloaded_error", Some(1)),
        (codes::MODEL_LOADING, 503, "server_error", Some(2)),
        (codes::SHUTTING_DOWN, 503, "server_error", None),
        (codes::MODEL_FAILED, 503, "server_error", None),
        (codes::MODEL_UNAVAILABLE, 503, "server_error", Some(10)),
        (codes::DEADLINE_EXCEEDED, 504, "server_error", None),
        (codes::WORKER_FAILED, 500, "server_error", None),
        ("a_code_nobody_knows", 500, "server_error", None),
    ] {
        let reply = ErrorReply::new(&Refusal::new(code, "it went wrong"));
        assert_eq!((reply.status, reply.kind, reply.retry_after), (status, kind, retry_after), "{code}");
    }
}

#[test]
fn the_envelope_is_openais_and_hints_follow_the_message() {
    let refusal =
        Refusal::new("invalid_value", "it is \"odd\"").hint("make it even").hint("or leave it").param("n");
    let body = ErrorReply::new(&refusal).body();
    assert_eq!(
        String::from_utf8(body).unwrap(),
        r#"{"error":{"message":"it is \"odd\" (make it even) (or leave it)","type":"invalid_request_error","param":"n","code":"invalid_value"}}"#
    );
    let body: Value = serde_json::from_slice(&ErrorReply::new(&Refusal::new("x", "y")).body()).unwrap();
    assert_eq!(body["error"]["param"], Value::Null);
}

#[test]
fn case_x06_no_absolute_path_reaches_a_client() {
    for (given, told) in [
        ("/home/ann/models/m.gguf: no such file", "m.gguf: no such file"),
        ("cannot read /home/ann/m.gguf", "cannot read m.gguf"),
        ("cannot read '/home/ann smith/my m.gguf', sorry", "cannot read 'my m.gguf', sorry"),
        ("(/root/.superfluid/runtimes/llamacpp/current/lib/libllama.so)", "(libllama.so)"),
        ("dir /var/lib/superfluid/ is full", "dir superfluid is full"),
        ("file:///home/ann/m.gguf", "file:m.gguf"),
        ("path=/home/ann/x,/home/ann/y", "path=x,y"),
        ("a//home/ann/x", "a/x"),
        // Spaces in a folder's name.
        ("/home/ann smith/x.gguf: gone", "x.gguf: gone"),
        ("read /home/ann b smith/my models/x.gguf twice", "read x.gguf twice"),
        ("read /home/ann/m.gguf and/or retry", "read m.gguf and/or retry"),
        ("/opt/models holds 3 files, 2 read/write", "models holds 3 files, 2 read/write"),
        ("/opt/a /opt/b", "a b"),
        // Paths from here and from home say nothing of where here is.
        ("open ~/m/a.gguf, ./b.gguf or '../c d.gguf'", "open ~/m/a.gguf, ./b.gguf or '../c d.gguf'"),
        // No paths of files:
        ("GET /v1/chat/completions takes POST", "GET /v1/chat/completions takes POST"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("and/or, 3 tokens/s, a / b", "and/or, 3 tokens/s, a / b"),
        ("", ""),
        ("/", "/"),
        ("caf\u{e9} /home/\u{e9}/\u{1f60a}.gguf", "caf\u{e9} \u{1f60a}.gguf"),
    ] {
        assert_eq!(message(given), told);
    }
    let hinted = Refusal::new("x", "y").hint("look in /home/ann/.superfluid/logs");
    assert_eq!(ErrorReply::new(&hinted).message, "y (look in logs)");
}

#[test]
fn models_are_listed_with_what_they_can_do() {
    let record =
        Record::new("llamacpp", "b11284").no(Leaf::ImageEncode, "no projector beside /home/ann/m.gguf");
    let loading = ModelCard { id: "b", created: 2, state: "loading", record: None, context_window: None };
    let cards = [
        ModelCard { id: "a", created: 1, state: "loaded", record: Some(&record), context_window: Some(4096) },
        loading,
    ];
    let list: Value = serde_json::from_slice(&model_list(&cards)).unwrap();
    assert_eq!(
        list,
        json!({"object": "list", "data": [
            {"id": "a", "object": "model", "created": 1, "owned_by": "superfluid", "state": "loaded", "context_window": 4096, "capabilities": {
                "descriptor_version": 1, "runtime": {"id": "llamacpp", "version": "b11284"},
                "modalities": {"image_encode": "no projector beside m.gguf"}}},
            {"id": "b", "object": "model", "created": 2, "owned_by": "superfluid", "state": "loading"},
        ]})
    );
    assert_eq!(serde_json::from_slice::<Value>(&model_card(&loading)).unwrap(), list["data"][1]);
}

#[test]
fn a_path_that_is_not_here_is_told_as_it_was_asked_for() {
    let told =
        ErrorReply::new(&Refusal::new(codes::NOT_FOUND, "there is no POST \"/chat/completions\" here"));
    assert_eq!(told.message, "there is no POST \"/chat/completions\" here");
}

#[test]
fn a_request_that_cannot_be_read_keeps_its_status() {
    for (status, code) in [(400, "invalid_http"), (431, "headers_too_large")] {
        let reply = unreadable(status);
        assert_eq!((reply.status, reply.code.as_str()), (status, code));
    }
}
