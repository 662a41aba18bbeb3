//! Conversations: roles, contents, tool calls sent back, media.

use super::{chat, completion, refuses};
use serde_json::{Value, json};
use superfluid_core::api::{ErrorReply, Media};
use superfluid_core::wire::Input;

/// The messages as a template gets them.
fn rendered(messages: &Value) -> Vec<Value> {
    match chat(&json!({ "messages": messages })).unwrap().input {
        Input::Chat { messages, .. } => messages,
        other => panic!("{other:?}"),
    }
}

fn refused(messages: &Value, code: &str) {
    refuses(chat(&json!({ "messages": messages })), code, "messages", messages);
}

#[test]
fn case_p01_the_servers_own_tool_call_turn_comes_back() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let null = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let absent = json!({"role": "assistant", "tool_calls": [call]});
    let echoed = json!({"role": "assistant", "content": null, "refusal": null, "annotations": [], "audio": null,
        "function_call": null, "tool_calls": [{"index": 0, "id": "c1", "type": "function",
        "function": {"name": "f", "arguments": "{}"}}]});
    let answer = json!({"role": "tool", "tool_call_id": "c1", "content": "42"});
    for turn in [null, absent, echoed] {
        let expected = json!([{"role": "assistant", "content": "", "tool_calls": [call]}, answer]);
        assert_eq!(json!(rendered(&json!([turn, answer]))), expected);
    }
    for turn in [
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant"}),
        json!({"role": "assistant", "content": null, "tool_calls": []}),
        json!({"role": "user", "content": null}),
        json!({"role": "user"}),
        json!({"role": "tool", "content": "42"}),
        json!({"role": "assistant", "tool_calls": [{"id": "c1", "type": "function"}]}),
        json!({"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]}),
    ] {
        let code = if turn["tool_calls"][0].get("type").is_some() {
            "invalid_type"
        } else {
            "missing_required_parameter"
        };
        refused(&json!([turn]), code);
    }
    refused(&json!([{"role": "assistant", "tool_calls": [{"id": 1}]}]), "invalid_type");
    refused(&json!([{"role": "assistant", "tool_calls": "f()"}]), "invalid_type");
}

#[test]
fn case_p02_developer_is_system_and_an_invented_role_is_refused() {
    let system = |text: &str| json!({"role": "system", "content": text});
    let developer = |text: &str| json!({"role": "developer", "content": text});
    let user = json!({"role": "user", "content": "hi"});
    for (given, got) in [
        (json!([developer("d"), user]), json!([system("d"), user])),
        (json!([system("s"), developer("d"), user]), json!([system("s"), system("d"), user])),
        (json!([user, developer("d")]), json!([user, system("d")])),
    ] {
        assert_eq!(json!(rendered(&given)), got);
    }
    refused(&json!([{"role": "banana", "content": "x"}]), "invalid_value");
    refused(&json!([{"role": "System", "content": "x"}]), "invalid_value");
    refused(&json!([{"role": 7, "content": "x"}]), "invalid_type");
    refused(&json!([{"content": "x"}]), "missing_required_parameter");
    refused(&json!([{"role": null, "content": "x"}]), "missing_required_parameter");
}

#[test]
fn case_p05_media_are_seen_wherever_they_are() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let audio = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
    let text = json!({"type": "text", "text": "hi"});
    let user = json!({"role": "user", "content": "and now?"});
    for (messages, media) in [
        (json!([{"role": "user", "content": [text, image]}]), Media { image: true, audio: false }),
        (json!([{"role": "user", "content": [image]}]), Media { image: true, audio: false }),
        (json!([{"role": "user", "content": [audio, text]}]), Media { image: false, audio: true }),
        // In an earlier turn, and in a tool's answer.
        (json!([{"role": "user", "content": [image]}, user]), Media { image: true, audio: false }),
        (
            json!([user, {"role": "tool", "tool_call_id": "c", "content": [text, audio, image]}]),
            Media { image: true, audio: true },
        ),
        (json!([user]), Media::default()),
    ] {
        assert_eq!(chat(&json!({ "messages": messages })).unwrap().media, media, "{messages}");
    }
    // For a model that takes media the parts stay as they are.
    let parts = json!([text, image]);
    assert_eq!(rendered(&json!([{"role": "user", "content": parts}]))[0]["content"], parts);
    refused(&json!([{"role": "user", "content": [text, {"type": "hologram"}]}]), "invalid_value");
    refused(&json!([{"role": "user", "content": [{"type": "file", "file": {}}]}]), "unsupported_input");
    refused(&json!([{"role": "user", "content": [{"text": "x"}]}]), "missing_required_parameter");
    refused(&json!([{"role": "user", "content": [{"type": "text"}]}]), "missing_required_parameter");
    refused(&json!([{"role": "user", "content": [{"type": "text", "text": 1}]}]), "invalid_type");
    refused(&json!([{"role": "user", "content": ["hi"]}]), "invalid_type");
    refused(&json!([{"role": "user", "content": {"type": "text"}}]), "invalid_type");
    refused(&json!([{"role": "user", "content": 7}]), "invalid_type");
}

#[test]
fn case_p12_text_parts_are_the_string_they_join_to() {
    let whole = rendered(&json!([{"role": "user", "content": "ab"}]));
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    assert_eq!(rendered(&json!([{"role": "user", "content": parts}])), whole);
    assert_eq!(
        rendered(&json!([{"role": "user", "content": []}])),
        rendered(&json!([{"role": "user", "content": ""}]))
    );
}

#[test]
fn case_t08_fields_of_others_in_a_conversation_are_passed_over() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let plain = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "b", "tool_call_id": "c1"},
    ]);
    let marked = json!([
        {"role": "user", "id": "m1", "timestamp": 1.5, "opts": {"a": [1]}, "audio": null,
            "content": [{"type": "text", "text": "a", "id": 7, "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": null, "thinking": "hm", "refusal": "no", "annotations": [{}],
            "tool_calls": [{"id": "c1", "type": "function", "index": 0, "extra_content": {"google": {}},
                "function": {"name": "f", "arguments": "{}", "parsed_arguments": {}}}]},
        {"role": "tool", "content": "b", "tool_call_id": "c1", "status": "done", "is_error": false},
    ]);
    assert_eq!(json!(rendered(&marked)), plain);
    // What the API itself knows and would change the prompt is no mark of others.
    let legacy =
        json!([{"role": "assistant", "content": "x", "function_call": {"name": "f", "arguments": "{}"}}]);
    refused(&legacy, "unsupported_parameter");
    let refusal = chat(&json!({"messages": legacy})).unwrap_err();
    assert!(refusal.message.starts_with("'messages[0].function_call'"), "{refusal}");
    // At the top a name that nobody knows may be one that was mistyped.
    refuses(chat(&json!({"timestamp": 1})), "unsupported_parameter", "timestamp", &json!("at the top"));
    let kept = json!([{"role": "user", "content": "x", "name": "ann"},
        {"role": "assistant", "content": "y", "reasoning_content": "z"}]);
    assert_eq!(json!(rendered(&kept)), kept);
}

#[test]
fn messages_must_be_there_and_a_conversation() {
    for (extra, code) in [
        (json!({"messages": null}), "missing_required_parameter"),
        (json!({"messages": []}), "invalid_value"),
        (json!({"messages": "hi"}), "invalid_type"),
        (json!({"messages": ["hi"]}), "invalid_type"),
        (json!({"messages": [[]]}), "invalid_type"),
    ] {
        refuses(chat(&extra), code, "messages", &extra);
        assert_eq!(ErrorReply::new(&chat(&extra).unwrap_err()).status, 400);
    }
    refuses(
        completion(&json!({"messages": [{"role": "user", "content": "x"}]})),
        "unsupported_parameter",
        "messages",
        &json!("messages to the other path"),
    );
    refuses(
        chat(&json!({"prompt": "x"})),
        "unsupported_parameter",
        "prompt",
        &json!("a prompt to the other path"),
    );
}

/// The template's arguments that say whose turn it is: whether to go on, and whether to begin a new one.
fn turn(extra: &Value) -> (Option<bool>, Option<bool>) {
    match chat(extra).unwrap().input {
        Input::Chat { kwargs, .. } => {
            let given = |name: &str| kwargs.get(name).and_then(Value::as_bool);
            (given("continue_final_message"), given("add_generation_prompt"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_t09_a_trailing_assistants_message_is_gone_on_with() {
    let user = json!({"role": "user", "content": "hi"});
    let ends = |last: Value, more: Value| {
        let mut body = json!({"messages": [user, last]});
        super::overlay(&mut body, &more);
        body
    };
    let started = || json!({"role": "assistant", "content": [{"type": "text", "text": "So"}]});
    for more in [
        json!({}),
        json!({"continue_final_message": true}),
        json!({"continue_final_message": true, "add_generation_prompt": false}),
        json!({"add_generation_prompt": false}),
        json!({"chat_template_kwargs": {"continue_final_message": true}}),
    ] {
        assert_eq!(turn(&ends(started(), more.clone())), (Some(true), Some(false)), "{more}");
    }
    // Asked for by name, it is a new turn.
    assert_eq!(turn(&ends(started(), json!({"add_generation_prompt": true}))), (None, Some(true)));
    assert_eq!(turn(&ends(started(), json!({"continue_final_message": false}))), (Some(false), None));
    // Where the user has the last word.
    assert_eq!(turn(&json!({"messages": [user]})), (None, None));
    assert_eq!(turn(&json!({"messages": [user], "add_generation_prompt": false})), (None, Some(false)));
    assert_eq!(turn(&json!({"messages": [user], "continue_final_message": null})), (None, None));
}

#[test]
fn case_t09_what_cant_be_gone_on_with_is_refused_by_name() {
    let user = json!({"role": "user", "content": "hi"});
    let said = json!({"role": "assistant", "content": "So"});
    let call = json!({"role": "assistant", "content": "So", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let go_on = "continue_final_message";
    for (messages, more, code, param) in [
        (json!([said, user]), json!({go_on: true}), "invalid_value", go_on),
        (json!([user]), json!({"chat_template_kwargs": {go_on: true}}), "invalid_value", go_on),
        (json!([said]), json!({go_on: true, "add_generation_prompt": true}), "invalid_value", go_on),
        (json!([user, call]), json!({}), "invalid_value", "messages"),
        (json!([user, call]), json!({go_on: true}), "invalid_value", "messages"),
        (json!([said]), json!({go_on: "yes"}), "invalid_type", go_on),
        (json!([said]), json!({"add_generation_prompt": 1}), "invalid_type", "add_generation_prompt"),
        (json!([said]), json!({"chat_template_kwargs": {go_on: 1}}), "invalid_type", go_on),
    ] {
        let mut body = json!({"messages": messages});
        super::overlay(&mut body, &more);
        refuses(chat(&body), code, param, &body);
    }
    assert_eq!(turn(&json!({"messages": [user, call], "add_generation_prompt": true})), (None, Some(true)));
}
