//! The two ends of every number a request takes, as the OpenAI API's reference has them.

use super::{chat, completion, refuses};
use serde_json::{Value, json};

/// Which paths take a parameter.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Both,
    Chat,
    Completion,
}

/// A parameter, its two ends, and what is next to them on the outside.
type Row = (&'static str, On, [Value; 2], [Value; 2]);

fn rows() -> Vec<Row> {
    let largest = u64::from(u32::MAX);
    vec![
        ("temperature", On::Both, [json!(0), json!(2)], [json!(-1e-9), json!(2.000_000_000_1)]),
        ("top_p", On::Both, [json!(0), json!(1)], [json!(-1e-9), json!(1.000_000_000_1)]),
        ("min_p", On::Both, [json!(0), json!(1)], [json!(-1e-9), json!(1.000_000_000_1)]),
        (
            "presence_penalty",
            On::Both,
            [json!(-2), json!(2)],
            [json!(-2.000_000_000_1), json!(2.000_000_000_1)],
        ),
        (
            "frequency_penalty",
            On::Both,
            [json!(-2), json!(2)],
            [json!(-2.000_000_000_1), json!(2.000_000_000_1)],
        ),
        (
            "repeat_penalty",
            On::Both,
            [json!(0.01), json!(2)],
            [json!(0.009_999_999_9), json!(2.000_000_000_1)],
        ),
        (
            "repetition_penalty",
            On::Both,
            [json!(0.01), json!(2)],
            [json!(0.009_999_999_9), json!(2.000_000_000_1)],
        ),
        ("top_k", On::Both, [json!(-1), json!(1_000_000)], [json!(-2), json!(1_000_001)]),
        ("seed", On::Both, [json!(i64::MIN), json!(u64::MAX)], [json!(-9.3e18), json!(1.9e19)]),
        ("max_tokens", On::Both, [json!(1), json!(largest)], [json!(0), json!(largest + 1)]),
        ("max_completion_tokens", On::Both, [json!(1), json!(largest)], [json!(0), json!(largest + 1)]),
        ("n", On::Both, [json!(1), json!(1)], [json!(0), json!(2)]),
        ("best_of", On::Completion, [json!(1), json!(1)], [json!(0), json!(2)]),
        ("logprobs", On::Completion, [json!(0), json!(5)], [json!(-1), json!(6)]),
        ("top_logprobs", On::Chat, [json!(0), json!(20)], [json!(-1), json!(21)]),
        (
            "logit_bias",
            On::Both,
            [json!({"5": -100}), json!({"5": 100})],
            [json!({"5": -100.000_001}), json!({"5": 100.000_001})],
        ),
    ]
}

#[test]
fn both_ends_of_every_number_are_taken_and_what_is_next_to_them_is_refused_by_name() {
    for (name, on, taken, refused) in rows() {
        let body = |value: &Value| match name {
            "top_logprobs" => json!({"logprobs": true, name: value}),
            _ => json!({ name: value }),
        };
        for value in &taken {
            let extra = body(value);
            if on != On::Completion {
                assert!(chat(&extra).is_ok(), "{extra}: {:?}", chat(&extra));
            }
            if on != On::Chat {
                assert!(completion(&extra).is_ok(), "{extra}: {:?}", completion(&extra));
            }
        }
        for value in &refused {
            let extra = body(value);
            let code = match name {
                "n" | "best_of" => "unsupported_parameter",
                // What is no integer of 64 bits is a number of another kind in JSON.
                "seed" => "invalid_type",
                _ => "invalid_value",
            };
            if on != On::Completion {
                refuses(chat(&extra), code, name, &extra);
            }
            if on != On::Chat {
                refuses(completion(&extra), code, name, &extra);
            }
        }
    }
}

#[test]
fn case_t07_of_no_probability_the_likeliest_token_is_left() {
    for top_p in [json!(0), json!(0.0), json!(-0.0), json!(1e-300)] {
        let extra = json!({"temperature": 1.5, "top_p": top_p});
        for request in [chat(&extra).unwrap(), completion(&extra).unwrap()] {
            assert!(request.sampling.is_plain_greedy(), "{extra}");
            assert!(request.sampling.top_p > 0.0, "no runtime has to know what 0 means");
        }
    }
    assert!(!chat(&json!({"top_p": 0.01})).unwrap().sampling.is_plain_greedy());
}
