//! Templates that mean harm, or only behave as if.

use super::{refused, render, shows};
use serde_json::json;
use std::time::Duration;
use superfluid_worker_kit::template::Template;

#[test]
fn case_x03_nothing_of_the_host_can_be_reached() {
    refused("{{ lipsum.__globals__['os'].popen('id').read() }}");
    refused("{{ ''.__class__.__mro__[1].__subclasses__() }}");
    refused("{{ messages.__class__.__init__.__globals__ }}");
    refused("{% include '/etc/passwd' %}");
    refused("{% import 'os' as os %}{{ os }}");
    refused("{% extends '/etc/passwd' %}");
}

/// Time this thread has had on a processor, which a busy machine does not make longer. Zero where the
/// system does not say.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

#[test]
fn case_x03_work_depth_and_output_are_bounded() {
    let sources = [
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
        "{% set ns = namespace(x='x') %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{{ 'x' * 10**12 }}",
        "{{ [0] * 10**12 }}",
        "{{ 'x' | indent(10**12) }}",
        "{{ '%999999999d' | format(1) }}",
        "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
    ];
    for source in sources {
        let began = worked();
        refused(source);
        let took = worked() - began;
        assert!(took < Duration::from_secs(5), "{source} took {took:?}");
    }
}

#[test]
fn case_x03_values_tied_into_a_loop_or_nested_deep_do_not_overflow() {
    on_the_readers_stack(deep_values);
}

fn deep_values() {
    let _ = render("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns | tojson }}", &json!([]));
    let deep = "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}";
    let _ = render(deep, &json!([]));
    let _ = render(&format!("{deep}{{{{ ns.x }}}}"), &json!([]));
    let _ = render(&format!("{deep}{{{{ ns.x == ns.x }}}}"), &json!([]));
}

#[test]
fn case_x03_a_huge_or_deep_source_is_refused() {
    on_the_readers_stack(deep_sources);
}

/// As much stack as the serve loop gives the thread that renders.
fn on_the_readers_stack(body: fn()) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(body).unwrap();
    thread.join().unwrap();
}

fn deep_sources() {
    let huge = "x".repeat(50 << 20);
    assert!(Template::compile(&huge, &[]).unwrap_err().message.contains("52428800 bytes"));
    let _ = Template::compile(&format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)), &[]);
    let _ = Template::compile(&"{% if a %}".repeat(50_000), &[]);
    let _ = Template::compile(&format!("{{{{ {}1 }}}}", "not ".repeat(100_000)), &[]);
    let _ = Template::compile(&format!("{{{{ 1{} }}}}", " + 1".repeat(100_000)), &[]);
    let _ = Template::compile(&format!("{{{{ a{} }}}}", ".a".repeat(100_000)), &[]);
}

#[test]
fn a_long_conversation_is_within_the_bounds() {
    let turn = |n: usize| json!({"role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "content": "word ".repeat(200)});
    let messages: Vec<_> = (0..10_000).map(turn).collect();
    let source = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] | trim }}\n{% endfor %}";
    let text = render(source, &json!(messages)).unwrap();
    assert_eq!(text.matches("<|user|>").count(), 5000);
}

#[test]
fn broken_sources_and_odd_ones_end_as_words() {
    assert!(refused("{% if %}").contains("line 1"));
    refused("{{ no_such_function() }}");
    refused("{{ 1 | no_such_filter }}");
    refused("{{ messages[0].a.b }}");
    assert_eq!(shows(""), "");
}
