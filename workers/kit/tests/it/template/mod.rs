mod guard;
mod hostile;
mod last;
mod python;
mod real;
mod specials;

use serde_json::{Map, Value, json};
use superfluid_core::Refusal;
use superfluid_worker_kit::template::{Conversation, Template};

/// 2024-07-05 09:03:07 UTC, a Friday.
const NOW: u64 = 1_720_170_187;

fn render_with(source: &str, messages: &Value, tools: &Value, kwargs: &Value) -> Result<String, Refusal> {
    let nothing = Map::new();
    let rendered = Template::compile(source, &[])?.render(Conversation {
        messages: messages.as_array().unwrap(),
        tools: tools.as_array().map(Vec::as_slice).unwrap_or_default(),
        kwargs: kwargs.as_object().unwrap_or(&nothing),
        bos: "<s>",
        eos: "</s>",
        now_unix: NOW,
    })?;
    Ok(rendered.text)
}

fn render(source: &str, messages: &Value) -> Result<String, Refusal> {
    render_with(source, messages, &Value::Null, &Value::Null)
}

/// What `source` writes when the conversation is one greeting.
fn shows(source: &str) -> String {
    render(source, &json!([{"role": "user", "content": "hi"}])).unwrap()
}

fn refused(source: &str) -> String {
    let refusal = render(source, &json!([{"role": "user", "content": "hi"}])).unwrap_err();
    assert_eq!(refusal.code, "template_error");
    assert!(refusal.message.len() < 2000, "{} bytes of message", refusal.message.len());
    refusal.message
}
