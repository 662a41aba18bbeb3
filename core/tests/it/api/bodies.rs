//! Bodies that are no request: bytes, JSON, depth, size.

use serde_json::json;
use superfluid_core::api::{Bounds, ErrorReply, parse_chat, parse_completion, parse_object};

use super::{SERVED, chat_body, refuses};

fn refused(body: &[u8], bounds: &Bounds) -> (u16, String, String) {
    let chat = parse_chat(body, bounds, SERVED).unwrap_err();
    let completion = parse_completion(body, bounds, SERVED).unwrap_err();
    assert_eq!(chat, completion);
    let reply = ErrorReply::new(&chat);
    let error: serde_json::Value = serde_json::from_slice(&reply.body()).unwrap();
    assert_eq!(error["error"]["type"], "invalid_request_error");
    assert_eq!(error["error"].as_object().unwrap().len(), 4);
    (reply.status, reply.code, reply.message)
}

#[test]
fn case_p11_bytes_that_are_no_request_get_a_json_error() {
    for (body, says) in [
        (&b"{\"model\": \"\xc4\xe3\xba\xc3\"}"[..], "not UTF-8 from byte 11"),
        (br#"{"model":"mock","prompt":"\ud800"}"#, "not valid JSON"),
        (b"\xef\xbb\xbf{\"model\":\"mock\"}", "byte order mark"),
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"[]", "must be a JSON object, not an array"),
        (b"\"x\"", "must be a JSON object, not a string"),
        (b"null", "must be a JSON object, not null"),
        (b"7", "must be a JSON object, not a number"),
        (br#"{"model":"mock","model":"other"}"#, "the key 'model' appears twice"),
        (br#"{"model":"mock","messages":[{"role":"user","role":"system"}]}"#, "the key 'role' appears twice"),
        (br#"{"model":"mock",}"#, "not valid JSON"),
        (b"{\"model\":\"mo\0ck\"}", "not valid JSON"),
        (b"{\"model\":\"mo\nck\"}", "not valid JSON"),
        // One byte short of what Content-Length promised.
        (br#"{"model":"mock","prompt":"x""#, "not valid JSON"),
        (br#"{"model":"mock"} {}"#, "not valid JSON"),
        (br#"{"model":"mock","temperature":NaN}"#, "not valid JSON"),
        (br#"{"model":"mock","temperature":1e999}"#, "not valid JSON"),
        (b"<html>", "not valid JSON"),
    ] {
        let (status, code, message) = refused(body, &Bounds::default());
        let shown = String::from_utf8_lossy(body);
        assert_eq!((status, code.as_str()), (400, "invalid_json"), "{shown}");
        assert!(message.contains(says), "{shown}: {message}");
    }
}

#[test]
fn case_p11_an_escaped_nul_is_a_character_like_others() {
    let body = br#"{"model":"mock","prompt":"a\u0000b"}"#;
    assert!(parse_completion(body, &Bounds::default(), SERVED).is_ok());
}

#[test]
fn case_p10_depth_is_bounded_before_anything_recurses() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for (depth, complete) in [(63, true), (64, true), (100_000, true), (100_000, false)] {
            let mut body = format!("{{\"metadata\":{}", open.repeat(depth));
            if complete {
                body += "1";
                body += &close.repeat(depth);
                body += "}";
            }
            let bounds = Bounds { values: usize::MAX, ..Bounds::default() };
            if depth == 63 {
                assert!(parse_object(body.as_bytes(), &bounds).is_ok());
            } else {
                let (status, code, message) = refused(body.as_bytes(), &bounds);
                assert_eq!((status, code.as_str()), (400, "invalid_json"));
                assert!(message.contains("nested more than 64 deep"), "{message}");
            }
        }
    }
}

#[test]
fn case_p10_brackets_in_strings_are_text() {
    let deep = r#"\"[{"#.repeat(1000);
    let body = format!(r#"{{"model":"mock","prompt":"{deep}\\"}}"#);
    assert!(parse_completion(body.as_bytes(), &Bounds::default(), SERVED).is_ok());
    // A pattern of 60,000 parentheses is a long string; the parameter it came in is refused.
    let body = chat_body(&json!({"guided_regex": "(".repeat(60_000)}));
    let refused = parse_chat(&body, &Bounds::default(), SERVED);
    refuses(refused, "unsupported_parameter", "guided_regex", &json!("60,000 parentheses"));
}

#[test]
fn size_and_number_of_values_are_bounded() {
    let small = Bounds { bytes: 100, values: 10, messages: 1, ..Bounds::default() };
    let (status, code, message) = refused(&[b' '; 101], &small);
    assert_eq!((status, code.as_str()), (413, "body_too_large"));
    assert_eq!(message, "the body is larger than 100 bytes, the most this server takes");
    let many = format!("{{\"prompt\":[{}]}}", ["1"; 20].join(","));
    let (status, code, message) = refused(many.as_bytes(), &small);
    assert_eq!((status, code.as_str()), (400, "invalid_json"));
    assert!(message.contains("more than 10 values"), "{message}");
    let two = br#"{"model":"mock","messages":[{"role":"user"},{"role":"user"}]}"#;
    refuses(parse_chat(two, &small, SERVED), "invalid_value", "messages", &json!("two messages"));
}

#[test]
fn a_long_key_or_value_is_not_repeated_whole() {
    let long = "x".repeat(10_000);
    let twice = format!("{{\"{long}\":1,\"{long}\":2}}");
    let unknown = format!("{{\"model\":\"{long}\"}}");
    for body in [twice, unknown] {
        let refusal = parse_chat(body.as_bytes(), &Bounds::default(), SERVED).unwrap_err();
        assert!(ErrorReply::new(&refusal).body().len() < 500);
    }
    let extra = chat_body(&json!({long.as_str(): 1}));
    let refusal = parse_chat(&extra, &Bounds::default(), SERVED).unwrap_err();
    assert!(ErrorReply::new(&refusal).body().len() < 500);
}
