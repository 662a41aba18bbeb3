//! Templates of published models' shapes, and every one in a folder, where one is given.

use super::{render_with, shows};
use serde_json::{Value, json};

#[test]
fn chatml() {
    let source = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
        {{ '<|im_start|>system\nBe brief<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' \
        + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}\
        {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
    let text =
        "<|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(shows(source), text);
}

/// `SUPERFLUID_TEMPLATES` names a folder of templates, for a look at many at once.
#[test]
fn every_template_of_a_folder_compiles() {
    let Some(folder) = std::env::var_os("SUPERFLUID_TEMPLATES") else { return };
    let talk = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Turin?"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call12345", "type": "function",
            "function": {"name": "weather", "arguments": "{\"city\": \"Turin\"}"}}]},
        {"role": "tool", "tool_call_id": "call12345", "name": "weather", "content": "21 C"},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "weather", "description": "The weather now",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}},
        "required": ["city"]}}}]);
    let plain = json!([{"role": "user", "content": "hi"}]);
    let (mut all, mut broken) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "jinja") {
            continue;
        }
        all += 1;
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().display();
        for (what, messages, tools) in [("plain", &plain, &Value::Null), ("tools", &talk, &tools)] {
            if let Err(refusal) = render_with(&source, messages, tools, &Value::Null) {
                broken.push(format!("{name} {what}: {refusal}"));
            }
        }
    }
    println!("{all} templates\n{}", broken.join("\n"));
    assert!(broken.iter().all(|line| !line.contains("plain")), "{broken:#?}");
}
