//! A conversation that ends with the assistant's message is gone on with inside it.

use super::guard::try_render;
use serde_json::{Value, json};
use superfluid_worker_kit::template::Rendered;

const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{{ '' }}{% endif %}";

fn cut(source: &str, content: &str) -> Rendered {
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": content}]);
    try_render(source, &messages, &Value::Null, &json!({"continue_final_message": true})).unwrap()
}

#[test]
fn case_t09_the_rendering_ends_with_the_last_message_s_text() {
    let head = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    for content in ["Soft drops", "Soft drops ", "", "\n", "a<|im_end|>", "hi"] {
        assert_eq!(cut(CHATML, content).text, format!("{head}{content}"));
    }
    assert_eq!(cut(CHATML, "<s>").marked.len(), 2, "what it spells is text here too");
    let trimming = CHATML.replace("m.content", "m.content | trim");
    for (content, kept) in [(" Soft drops \n", "Soft drops"), ("a b", "a b"), ("", ""), (" \n", "")] {
        assert_eq!(cut(&trimming, content).text, format!("{head}{kept}"));
    }
    let llama2 = "{% for m in messages %}{{ '<s>' + m.role + ' ' + m.content | trim + ' </s>' }}{% endfor %}";
    assert_eq!(cut(llama2, "So ").text, "<s>user hi </s><s>assistant So");
}

#[test]
fn case_t09_templates_that_take_the_text_apart_or_write_it_twice() {
    let thinking = "{{ messages[-1].content.split('</think>')[-1].lstrip('\\n') }}<|im_end|>";
    assert_eq!(cut(thinking, "<think>x</think>\n\nSo").text, "So");
    let twice = "{{ messages[-1].content }}|{{ messages[-1].content }}<|im_end|>";
    assert_eq!(cut(twice, "So ").text, "So |So ");
    let json = "{{ messages[-1].content | tojson(ensure_ascii=true) }}<|im_end|>";
    assert_eq!(cut(json, "Sö").text, "\"S\\u00f6");
}

#[test]
fn case_t09_a_template_that_leaves_the_text_out_is_refused_by_name() {
    let messages = json!([{"role": "assistant", "content": "So"}]);
    let kwargs = json!({"continue_final_message": true});
    for source in
        ["{{ messages[0].role }}", "{% if add_generation_prompt %}{{ messages[0].content }}{% endif %}"]
    {
        let refusal = try_render(source, &messages, &Value::Null, &kwargs).unwrap_err();
        assert_eq!((refusal.code.as_str(), refusal.param.as_deref()), ("template_error", Some("messages")));
        assert!(refusal.message.contains("does not write the last message's text"), "{refusal}");
    }
    let media = json!([{"role": "assistant", "content": [{"type": "text", "text": "So"}]}]);
    assert!(try_render(CHATML, &media, &Value::Null, &kwargs).is_err());
}
