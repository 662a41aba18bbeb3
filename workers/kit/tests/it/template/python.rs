//! What `transformers` lets templates do.

use super::{refused, render, render_with, shows};
use serde_json::{Value, json};

#[test]
fn blocks_leave_no_blank_lines() {
    assert_eq!(shows("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
}

#[test]
fn json_is_written_as_python_writes_it() {
    let cases = [
        (r#"{{ {"b": 1, "a": [1, 2.0, true, none]} | tojson }}"#, r#"{"b": 1, "a": [1, 2.0, true, null]}"#),
        (r#"{{ "<é'&\"\\\n" | tojson }}"#, r#""<é'&\"\\\n""#),
        (r#"{{ "é😀" | tojson(ensure_ascii=true) }}"#, r#""\u00e9\ud83d\ude00""#),
        (r#"{{ [1, {"a": []}] | tojson(indent=2) }}"#, "[\n  1,\n  {\n    \"a\": []\n  }\n]"),
        (r#"{{ {"b": 1, "a": 2} | tojson(sort_keys=true, separators=(',', ':')) }}"#, r#"{"a":2,"b":1}"#),
        (
            "{{ [1e16, 1e-7, 1.5e300, 0.1, -0.0, 1e15] | tojson }}",
            "[1e+16, 1e-07, 1.5e+300, 0.1, -0.0, 1000000000000000.0]",
        ),
    ];
    for (source, text) in cases {
        assert_eq!(shows(source), text, "{source}");
    }
    assert!(refused("{{ nothing | tojson }}").contains("not JSON"));
}

#[test]
fn keys_keep_the_order_the_client_wrote() {
    let tools: Value = serde_json::from_str(r#"[{"zeta": {"type": "x", "name": "y"}, "alpha": 1}]"#).unwrap();
    let text = render_with("{{ tools[0] | tojson }}", &json!([]), &tools, &Value::Null).unwrap();
    assert_eq!(text, r#"{"zeta": {"type": "x", "name": "y"}, "alpha": 1}"#);
}

#[test]
fn the_clock_is_the_request_s() {
    assert_eq!(shows("{{ strftime_now('%d %b %Y, %A %H:%M:%S') }}"), "05 Jul 2024, Friday 09:03:07");
    assert_eq!(shows("{{ strftime_now('%Y-%m-%d') }}"), "2024-07-05");
    assert!(refused("{{ strftime_now('%Q%') }}").contains("strftime_now"));
}

#[test]
fn methods_of_python_s_strings_and_dicts_are_there() {
    assert_eq!(shows("{{ ' a,b '.strip().split(',')[-1].upper() }}"), "B");
    assert_eq!(shows("{{ 'abc'.removeprefix('a').removesuffix('c') }}"), "b");
    assert_eq!(shows("{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}"), "a=1");
    assert_eq!(shows("{{ messages[0].get('role') }}{{ messages[0].get('x', '-') }}"), "user-");
    assert_eq!(shows("{{ 'hi there'.startswith('hi') and 'x' not in 'abc' }}"), "True");
    assert_eq!(shows("{{ messages[::-1][0]['content'][:1] }}"), "h");
}

#[test]
fn loops_can_be_left() {
    assert_eq!(
        shows("{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"),
        "012"
    );
}

#[test]
fn what_a_template_raises_is_told() {
    let message = refused("{{ raise_exception('roles must alternate') }}");
    assert_eq!(message, "the chat template refused the conversation: roles must alternate");
}

#[test]
fn kwargs_reach_the_template_and_absent_ones_are_undefined() {
    let source = "{% if enable_thinking is defined and not enable_thinking %}off{% else %}on{% endif %}";
    assert_eq!(
        render_with(source, &json!([]), &Value::Null, &json!({"enable_thinking": false})).unwrap(),
        "off"
    );
    assert_eq!(render(source, &json!([])).unwrap(), "on");
    let kwargs = json!({"messages": [], "add_generation_prompt": false});
    let source = "{{ messages | length }}{{ add_generation_prompt }}";
    assert_eq!(render_with(source, &json!([{}]), &Value::Null, &kwargs).unwrap(), "1False");
}

#[test]
fn generation_marks_render_nothing() {
    assert_eq!(shows("a{%- generation -%} b {%- endgeneration %}c {{ '{% x' }}"), "abc {% x");
}

#[test]
fn calls_arguments_are_objects_or_text_as_the_template_needs() {
    let call = json!([{"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": \"é\"}"}}]}]);
    let get = "{% set a = messages[0].tool_calls[0].function.arguments %}";
    assert_eq!(render(&format!("{get}{{{{ a | tojson }}}}"), &call).unwrap(), r#"{"b": 1, "a": "é"}"#);
    let joined = render(&format!("{get}{{{{ messages[0].content + '<' + a + '>' }}}}"), &call).unwrap();
    assert_eq!(joined, r#"<{"b": 1, "a": "é"}>"#);
}
