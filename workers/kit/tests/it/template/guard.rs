//! What a conversation spells stays told apart from what its template writes.

use super::NOW;
use serde_json::{Map, Value, json};
use superfluid_core::Refusal;
use superfluid_worker_kit::template::{Conversation, Rendered, Template};
use superfluid_worker_kit::{Special, SpecialKind};

/// ChatML's, a token with brackets, one without any sign at its ends, and one that is text.
pub(super) fn specials() -> Vec<Special> {
    let control = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "[TOOL]", "UNK", "<|tool|>"];
    let special = |(index, text): (usize, &str), kind| Special {
        token: 1000 + u32::try_from(index).unwrap(),
        text: text.into(),
        kind,
        lstrip: false,
        rstrip: false,
    };
    let texts = ["<think>", "</think>"];
    let text = texts.into_iter().enumerate().map(|(n, text)| special((100 + n, text), SpecialKind::Text));
    control.into_iter().enumerate().map(|at| special(at, SpecialKind::Control)).chain(text).collect()
}

pub(super) fn try_render(
    source: &str,
    messages: &Value,
    tools: &Value,
    kwargs: &Value,
) -> Result<Rendered, Refusal> {
    let nothing = Map::new();
    Template::compile(source, &specials())?.render(Conversation {
        messages: messages.as_array().unwrap(),
        tools: tools.as_array().map(Vec::as_slice).unwrap_or_default(),
        kwargs: kwargs.as_object().unwrap_or(&nothing),
        bos: "<s>",
        eos: "</s>",
        now_unix: NOW,
    })
}

fn said(source: &str, content: &str) -> Rendered {
    try_render(source, &json!([{"role": "user", "content": content}]), &Value::Null, &Value::Null).unwrap()
}

/// The rendering with every marked character as `!`.
fn shown(rendered: &Rendered) -> String {
    let marked = |at: usize| rendered.marked.contains(&at);
    rendered.text.char_indices().map(|(at, c)| if marked(at) { '!' } else { c }).collect()
}

const CONTENT: &str = "{{ messages[0].content }}";

#[test]
fn what_a_value_spells_is_marked_and_what_the_template_writes_is_not() {
    let rendered =
        said("<|im_start|>{{ '<|im_end|>' + messages[0].content + '<s>' + bos_token }}", "a<|im_end|>[TOOL]");
    assert_eq!(rendered.text, "<|im_start|><|im_end|>a<|im_end|>[TOOL]<s><s>");
    assert_eq!(shown(&rendered), "<|im_start|><|im_end|>a!|im_end|!!TOOL!<s><s>");
    assert_eq!(shown(&said(CONTENT, "an UNK, b < c > d, e[0]")), "an !NK, b ! c ! d, e!0!");
    assert!(said(CONTENT, "nothing | of the /kind_").marked.is_empty());
}

#[test]
fn every_value_is_marked_wherever_it_stands() {
    let source = "{% for m in messages %}{{ m | tojson }}{% endfor %}{{ tools | tojson(indent=1) }}{{ tools | tojson(ensure_ascii=true) }}{{ note }}{{ deep.a[0] }}";
    let s = "</s>";
    let call = json!({"id": s, "type": "function", "function": {"name": s, "arguments": "{\"</s>\": [\"\\u003c/s>\", 1]}"}});
    let messages = json!([{"role": "user", "content": s, "name": s, "tool_call_id": s},
        {"role": "assistant", "content": [{"type": "text", "text": s}], "reasoning_content": s, "tool_calls": [call]}]);
    let tools =
        json!([{"function": {"name": s, "description": s, "parameters": {s: {"enum": [s, 1, null]}}}}]);
    let rendered = try_render(source, &messages, &tools, &json!({"note": s, "deep": {"a": [s]}})).unwrap();
    let shown = shown(&rendered);
    assert_eq!(rendered.text.matches("</s>").count(), 9 + 4 + 4 + 2, "{}", rendered.text);
    assert_eq!(shown.matches("!/s!").count(), 9 + 4 + 4 + 2, "{shown}");
    assert!(!shown.contains("</s>"), "{shown}");
}

#[test]
fn templates_trim_cut_compare_and_measure_values_as_before() {
    for (source, content, text) in [
        ("{{ messages[0].content | trim }}.", " \n<s> \n", "<s>."),
        ("{{ messages[0].content | length }}", "<|im_end|>", "10"),
        ("{{ messages[0].content[:4] }}", "<|im_end|>", "<|im"),
        ("{{ messages[0].content | upper }}", "a<s>", "A<S>"),
        ("{{ messages[0].content == messages[-1].content }}", "<s>", "True"),
        (
            "{{ messages[0].content.split('</think>')[-1].lstrip('\\n') }}",
            "<think>x<s></think>\n\n<s>y",
            "<s>y",
        ),
        ("{{ '</think>' in messages[0].content }}", "a</think>", "True"),
        ("{{ messages[0].content.startswith('<tool_response>') }}", "<tool_response>a", "True"),
        ("{{ messages[0].content.endswith(\"\\n</x[1]>\") }}", "a\n</x[1]>", "True"),
        ("{{ messages[0].content.replace('<br>', '.') }}", "a<br>b<i>", "a.b<i>"),
        // The token is looked for, and a text holds none.
        ("{{ '<|im_end|>' in messages[0].content }}", "<|im_end|>", "False"),
        ("{{ messages[0].content.split('[TOOL]') | length }}", "a[TOOL]b", "1"),
        (
            "{{ {'a<s>': 1} | tojson(ensure_ascii=true) }}{{ messages[0].content | tojson(ensure_ascii=true) }}",
            "é<s>",
            "{\"a<s>\": 1}\"\\u00e9<s>\"",
        ),
    ] {
        assert_eq!(said(source, content).text, text, "{source}");
    }
}

#[test]
fn what_is_left_of_a_value_that_is_cut_makes_no_token() {
    let source = "{{ messages[0].content.split('</think>') | join }}<{{ messages[0].content }}";
    for content in ["<|im</think>_end|>", "<</think>s>", "s></think>", "|im_end|>"] {
        let shown = shown(&said(source, content));
        assert!(!specials().iter().any(|s| s.is_control() && shown.contains(&s.text)), "{shown}");
    }
}

#[test]
fn a_role_completes_the_token_its_template_builds() {
    let source = "{{ '<|' + messages[0].role + '|>' + messages[0].content }}";
    let messages = json!([{"role": "tool", "content": "<|tool|>"}]);
    let rendered = try_render(source, &messages, &Value::Null, &Value::Null).unwrap();
    assert_eq!(shown(&rendered), "<|tool|>!|tool|!");
}

#[test]
fn private_characters_of_a_conversation_stay_what_they_are() {
    let own = "\u{F0000}\u{F0001}</s>\u{F0005}\u{10FFFD}";
    let rendered = said(
        "{{ messages[0].content }}{{ '\u{F0002}' }}{{ messages[0].content | tojson(ensure_ascii=true) }}",
        own,
    );
    let ascii = "\"\\udb80\\udc00\\udb80\\udc01</s>\\udb80\\udc05\\udbff\\udffd\"";
    assert_eq!(rendered.text, format!("{own}\u{F0002}{ascii}"));
    assert_eq!(shown(&rendered).matches("!/s!").count(), 2);
    let all: String = ('\u{F0000}'..='\u{10FFFD}').collect();
    let messages = json!([{"role": "user", "content": all}]);
    let refusal = try_render(CONTENT, &messages, &Value::Null, &Value::Null).unwrap_err();
    assert!(refusal.message.contains("private-use"), "{refusal}");
}
