//! Parameters: what is taken, what is refused, and with which name.

use super::{both_refuse, chat, completion, refuses};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use superfluid_core::api::{Bounds, ErrorReply, parse_chat};
use superfluid_core::sched::{Class, JobId};
use superfluid_core::wire::{Input, Sampling, Submit};

#[test]
fn the_least_request_has_the_apis_defaults() {
    let request = chat(&json!({})).unwrap();
    let submit = request.into_submit(JobId(7), Class::Interactive, 42, 1_700_000_000);
    assert_eq!(
        submit,
        Submit {
            id: JobId(7),
            class: Class::Interactive,
            input: Input::Chat {
                messages: vec![json!({"role": "user", "content": "hi"})],
                tools: vec![],
                kwargs: serde_json::Map::new(),
            },
            sampling: Sampling { seed: 42, ..Sampling::default() },
            max_tokens: None,
            stop: vec![],
            ignore_eos: false,
            logprobs: None,
            committed: vec![],
            delivered: Default::default(),
            held: vec![],
            now_unix: 1_700_000_000,
        }
    );
    // A completion ends after 16 tokens, as the OpenAI API has it.
    let submit = completion(&json!({})).unwrap().into_submit(JobId(1), Class::Agent, 0, 0);
    assert_eq!(submit.max_tokens, Some(16));
    assert_eq!(submit.input, Input::Text { text: "hi".into() });
}

#[test]
fn every_parameter_reaches_the_job() {
    let all = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "presence_penalty": 1, "frequency_penalty": -1,
        "repeat_penalty": 1.1, "logit_bias": {"5": -100, "7": 2.5}, "seed": 3, "stop": ["a", "b"], "stream": true,
        "stream_options": {"include_usage": true}, "ignore_eos": true, "max_tokens": 9, "n": 1,
        "user": "u", "metadata": {"a": "b"}, "store": true,
    });
    for request in [chat(&all).unwrap(), completion(&all).unwrap()] {
        assert!(request.stream && request.include_usage);
        let submit = request.into_submit(JobId(1), Class::Agent, 0, 0);
        let expected = Sampling {
            temperature: 0.5,
            top_k: 40,
            top_p: 0.9,
            min_p: 0.05,
            presence_penalty: 1.0,
            frequency_penalty: -1.0,
            repeat_penalty: 1.1,
            logit_bias: BTreeMap::from([(5, -100.0), (7, 2.5)]),
            seed: 3,
        };
        assert_eq!(submit.sampling, expected);
        assert_eq!((submit.max_tokens, submit.ignore_eos), (Some(9), true));
        assert_eq!(submit.stop, ["a", "b"]);
    }
}

#[test]
fn null_is_not_given() {
    let names = [
        "n",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "logit_bias",
        "logprobs",
        "max_tokens",
        "user",
        "tools",
        "response_format",
        "echo",
        "suffix",
        "best_of",
        "whatever",
    ];
    let nulls: Value = names.iter().map(|name| ((*name).to_string(), Value::Null)).collect();
    assert_eq!(chat(&nulls).unwrap(), chat(&json!({})).unwrap());
    assert_eq!(completion(&nulls).unwrap(), completion(&json!({})).unwrap());
}

#[test]
fn case_p03_both_names_of_the_cap_are_honoured() {
    for (extra, cap) in [
        (json!({"max_completion_tokens": 5}), Some(5)),
        (json!({"max_tokens": 5}), Some(5)),
        (json!({"max_tokens": null}), None),
        (json!({"max_completion_tokens": 5, "max_tokens": 9}), Some(5)),
        (json!({"max_completion_tokens": 9, "max_tokens": 5}), Some(5)),
        (json!({"max_completion_tokens": null, "max_tokens": 5}), Some(5)),
    ] {
        assert_eq!(chat(&extra).unwrap().max_tokens, cap, "{extra}");
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        for (value, code) in [
            (json!(0), "invalid_value"),
            (json!(-1), "invalid_value"),
            (json!(5.0), "invalid_type"),
            (json!("5"), "invalid_type"),
            (json!(1e12), "invalid_type"),
            (json!(1_000_000_000_000_u64), "invalid_value"),
            (json!(u64::MAX), "invalid_value"),
            (json!(true), "invalid_type"),
            (json!([5]), "invalid_type"),
        ] {
            both_refuse(&json!({ name: value }), code, name);
        }
    }
}

#[test]
fn case_p06_bad_sampling_values_are_refused_for_that_request() {
    for (param, value, code) in [
        ("logit_bias", json!({"-1": 1}), "invalid_value"),
        ("logit_bias", json!({"abc": 1}), "invalid_value"),
        ("logit_bias", json!({"": 1}), "invalid_value"),
        ("logit_bias", json!({"+5": 1}), "invalid_value"),
        ("logit_bias", json!({"05": 1}), "invalid_value"),
        ("logit_bias", json!({"5": 1e9}), "invalid_value"),
        ("logit_bias", json!({"5": "1"}), "invalid_value"),
        ("logit_bias", json!({"99999999999": 1}), "invalid_value"),
        ("logit_bias", json!([[5, 1]]), "invalid_type"),
        ("top_k", json!(0.01), "invalid_type"),
        ("top_k", json!(-5), "invalid_value"),
        ("top_k", json!(9_999_999), "invalid_value"),
        ("temperature", json!(-1), "invalid_value"),
        ("temperature", json!("NaN"), "invalid_type"),
        ("temperature", json!(1e308), "invalid_value"),
        ("temperature", json!(2.01), "invalid_value"),
        ("top_p", json!(2), "invalid_value"),
        ("min_p", json!(-0.1), "invalid_value"),
        ("presence_penalty", json!(99), "invalid_value"),
        ("frequency_penalty", json!(-99), "invalid_value"),
        ("repeat_penalty", json!(0), "invalid_value"),
        ("repetition_penalty", json!(1e-300), "invalid_value"),
        ("seed", json!(1.5), "invalid_type"),
        ("seed", json!("1"), "invalid_type"),
    ] {
        both_refuse(&json!({ param: value }), code, param);
    }
    // JSON numbers above 64 bits are no integers here.
    let body =
        br#"{"model":"mock","messages":[{"role":"user","content":"x"}],"seed":1180591620717411303424}"#;
    refuses(parse_chat(body, &Bounds::default(), &["mock"]), "invalid_type", "seed", &json!("2^70"));
    both_refuse(
        &json!({"repeat_penalty": 1.1, "repetition_penalty": 1.2}),
        "invalid_value",
        "repetition_penalty",
    );
}

#[test]
fn case_p06_token_ids_are_checked_against_the_loaded_vocabulary() {
    let request = chat(&json!({"logit_bias": {"5": 1, "999999999": 5}})).unwrap();
    let refusal = request.check_vocab(49_152).unwrap_err();
    assert_eq!((refusal.code.as_str(), refusal.param.as_deref()), ("invalid_value", Some("logit_bias")));
    assert!(refusal.message.contains("999999999") && refusal.message.contains("49152"), "{refusal}");
    let request = completion(&json!({"prompt": [1, 49_152], "logit_bias": {"49151": 1}})).unwrap();
    assert_eq!(request.check_vocab(49_152).unwrap_err().param.as_deref(), Some("prompt"));
    assert_eq!(request.check_vocab(49_153), Ok(()));
}

#[test]
fn values_at_the_edges_are_taken() {
    for (extra, seed) in
        [(json!(u64::MAX), u64::MAX), (json!(-1), u64::MAX), (json!(i64::MIN), 1 << 63), (json!(0), 0)]
    {
        assert_eq!(chat(&json!({ "seed": extra })).unwrap().seed, Some(seed));
    }
    assert_eq!(chat(&json!({})).unwrap().seed, None);
    assert_eq!(chat(&json!({"top_k": -1})).unwrap().sampling.top_k, 0);
    assert_eq!(chat(&json!({"temperature": 2, "top_p": 1})).unwrap().sampling.temperature, 2.0);
    // Too cold to divide by.
    assert!(chat(&json!({"temperature": 1e-30})).unwrap().sampling.is_plain_greedy());
    assert_eq!(chat(&json!({"repetition_penalty": 1.5})).unwrap().sampling.repeat_penalty, 1.5);
}

#[test]
fn case_p08_stop_strings() {
    let long = "s".repeat(10_000);
    for (stop, expected) in [
        (json!([]), vec![]),
        (Value::Null, vec![]),
        (json!("a"), vec!["a"]),
        (json!(["a", "b", "c", "d"]), vec!["a", "b", "c", "d"]),
        (json!(long), vec![long.as_str()]),
    ] {
        let extra = json!({ "stop": stop });
        assert_eq!(chat(&extra).unwrap().stop, expected);
        assert_eq!(completion(&extra).unwrap().stop, expected);
    }
    for (stop, code) in [
        (json!(""), "invalid_value"),
        (json!([""]), "invalid_value"),
        (json!(["a", ""]), "invalid_value"),
        (json!(["a", "b", "c", "d", "e"]), "invalid_value"),
        (json!("s".repeat(100_000)), "invalid_value"),
        (json!([1]), "invalid_type"),
        (json!([null]), "invalid_type"),
        (json!({"x": 1}), "invalid_type"),
    ] {
        both_refuse(&json!({ "stop": stop }), code, "stop");
    }
}

#[test]
fn case_p13_n_other_than_one_is_refused_before_any_byte_of_a_stream() {
    for n in [json!(0), json!(2), json!(-1), json!("1"), json!(1_000_000), json!(1.0), json!([1])] {
        for stream in [true, false] {
            both_refuse(&json!({"n": n, "stream": stream}), "unsupported_parameter", "n");
        }
    }
    for n in [Value::Null, json!(1)] {
        assert!(chat(&json!({ "n": n })).is_ok());
    }
    refuses(completion(&json!({"best_of": 2})), "unsupported_parameter", "best_of", &json!(2));
    assert!(completion(&json!({"best_of": 1})).is_ok());
}

#[test]
fn case_s07_stream_options_need_a_stream() {
    for stream in [json!({}), json!({"stream": false}), json!({"stream": null})] {
        let mut extra = stream;
        extra["stream_options"] = json!({"include_usage": true});
        both_refuse(&extra, "invalid_value", "stream_options");
    }
    for (usage, wanted) in [(json!(true), true), (json!(false), false), (Value::Null, false)] {
        let request = chat(&json!({"stream": true, "stream_options": {"include_usage": usage}})).unwrap();
        assert_eq!(request.include_usage, wanted);
    }
    both_refuse(
        &json!({"stream": true, "stream_options": {"include_usage": 1}}),
        "invalid_type",
        "stream_options",
    );
    both_refuse(&json!({"stream": true, "stream_options": true}), "invalid_type", "stream_options");
    let unknown = json!({"stream": true, "stream_options": {"continuous_usage_stats": true}});
    both_refuse(&unknown, "unsupported_parameter", "stream_options");
    both_refuse(&json!({"stream": "yes"}), "invalid_type", "stream");
}

#[test]
fn case_w09_a_model_that_is_not_served_is_not_found() {
    for served in [&["mock"][..], &["mock", "other-model"]] {
        for (model, status, code) in [
            (json!("no-such-model"), 404, "model_not_found"),
            (json!(""), 404, "model_not_found"),
            (json!(" mock"), 404, "model_not_found"),
            (json!("Mock"), 404, "model_not_found"),
            (Value::Null, 400, "missing_required_parameter"),
            (json!(7), 400, "invalid_type"),
        ] {
            let body = super::chat_body(&json!({ "model": model }));
            let refusal = parse_chat(&body, &Bounds::default(), served).unwrap_err();
            let reply = ErrorReply::new(&refusal);
            assert_eq!((reply.status, reply.code.as_str()), (status, code), "{model}");
            assert_eq!(reply.param.as_deref(), Some("model"));
            for id in served {
                assert!(reply.message.contains(&format!("'{id}'")), "{}", reply.message);
            }
        }
        let missing = parse_chat(br#"{"messages":[]}"#, &Bounds::default(), served).unwrap_err();
        assert_eq!(missing.code, "missing_required_parameter");
        let body = super::chat_body(&json!({"model": served[served.len() - 1]}));
        assert_eq!(parse_chat(&body, &Bounds::default(), served).unwrap().model, served[served.len() - 1]);
    }
    let none = parse_chat(br#"{"model":"x"}"#, &Bounds::default(), &[]).unwrap_err();
    assert!(none.hints[0].contains("no model is served"));
}

#[test]
fn log_probabilities_are_asked_for_differently() {
    for (extra, wanted) in [
        (json!({}), None),
        (json!({"logprobs": false}), None),
        (json!({"logprobs": true}), Some(0)),
        (json!({"logprobs": true, "top_logprobs": 20}), Some(20)),
    ] {
        assert_eq!(chat(&extra).unwrap().logprobs, wanted);
    }
    for extra in [json!({"top_logprobs": 2}), json!({"logprobs": true, "top_logprobs": 21})] {
        refuses(chat(&extra), "invalid_value", "top_logprobs", &extra);
    }
    refuses(chat(&json!({"logprobs": 2})), "invalid_type", "logprobs", &json!(2));
    assert_eq!(completion(&json!({"logprobs": 0})).unwrap().logprobs, Some(0));
    assert_eq!(completion(&json!({"logprobs": 5})).unwrap().logprobs, Some(5));
    refuses(completion(&json!({"logprobs": true})), "invalid_type", "logprobs", &json!(true));
}

#[test]
fn several_prompts_are_a_request_each() {
    for (prompt, inputs) in [
        (json!(["a", "b"]), vec![Input::Text { text: "a".into() }, Input::Text { text: "b".into() }]),
        (json!([[1, 2], [3]]), vec![Input::Tokens { tokens: vec![1, 2] }, Input::Tokens { tokens: vec![3] }]),
        (json!(["a"]), vec![Input::Text { text: "a".into() }]),
    ] {
        let request = completion(&json!({"prompt": prompt, "seed": 3, "max_tokens": 5})).unwrap();
        assert_eq!(request.choices(), inputs.len());
        let split = request.split();
        assert!(
            split.iter().all(|one| one.choices() == 1 && one.seed == Some(3) && one.max_tokens == Some(5))
        );
        assert_eq!(split.into_iter().map(|one| one.input).collect::<Vec<_>>(), inputs);
    }
    assert_eq!(completion(&json!({"prompt": vec!["x"; 128]})).unwrap().choices(), 128);
    let many = json!({"prompt": vec!["x"; 129]});
    refuses(completion(&many), "invalid_value", "prompt", &many);
    let biases: Value = (0..5000).map(|token| (token.to_string(), json!(1))).collect();
    let large = json!({"prompt": vec!["x"; 128], "logit_bias": biases});
    refuses(completion(&large), "invalid_value", "logit_bias", &json!("5000 biases for 128 prompts"));
    assert!(completion(&json!({"logit_bias": biases})).is_ok());
}

#[test]
fn a_prompt_is_one_text_or_one_list_of_tokens() {
    for (prompt, expected) in [
        (json!("x"), Input::Text { text: "x".into() }),
        (json!(["x"]), Input::Text { text: "x".into() }),
        (json!(""), Input::Text { text: String::new() }),
        (json!([1, 2]), Input::Tokens { tokens: vec![1, 2] }),
        (json!([[1, 2]]), Input::Tokens { tokens: vec![1, 2] }),
        (json!([7]), Input::Tokens { tokens: vec![7] }),
    ] {
        assert_eq!(completion(&json!({ "prompt": prompt })).unwrap().input, expected, "{prompt}");
    }
    for (prompt, code) in [
        (Value::Null, "missing_required_parameter"),
        (json!([]), "invalid_value"),
        (json!([[]]), "invalid_value"),
        (json!(["x", 1]), "invalid_type"),
        (json!(["x", null]), "invalid_type"),
        (json!([[1], []]), "invalid_value"),
        (json!([1, "x"]), "invalid_value"),
        (json!([-1]), "invalid_value"),
        (json!([4_294_967_296_u64]), "invalid_value"),
        (json!([1.5]), "invalid_value"),
        (json!([[["x"]]]), "invalid_value"),
        (json!(7), "invalid_type"),
        (json!({}), "invalid_type"),
    ] {
        let extra = json!({ "prompt": prompt });
        refuses(completion(&extra), code, "prompt", &extra);
    }
}

/// No call would be found in what the model says, so none is asked for, streamed or not.
#[test]
fn case_s08_tools_are_refused_before_any_byte_of_a_stream() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]);
    for stream in [false, true] {
        let extra = json!({"tools": tools, "stream": stream});
        refuses(chat(&extra), "unsupported_parameter", "tools", &extra);
    }
}

#[test]
fn what_is_not_supported_is_never_silently_ignored() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    for (extra, param) in [
        (json!({"tools": tools}), "tools"),
        (json!({"tools": tools, "tool_choice": "auto"}), "tool_choice"),
        (json!({"tools": tools, "tool_choice": "required"}), "tool_choice"),
        (json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}), "tool_choice"),
        (json!({"functions": [{"name": "f"}]}), "functions"),
        (json!({"response_format": {"type": "json_object"}}), "response_format"),
        (json!({"response_format": {"type": "json_schema", "json_schema": {}}}), "response_format"),
        (json!({"modalities": ["text", "audio"]}), "modalities"),
        (json!({"audio": {"voice": "x"}}), "audio"),
        (json!({"prediction": {}}), "prediction"),
        (json!({"web_search_options": {}}), "web_search_options"),
        (json!({"temprature": 0}), "temprature"),
        (json!({"echo": true}), "echo"),
        (json!({"suffix": "x"}), "suffix"),
    ] {
        refuses(chat(&extra), "unsupported_parameter", param, &extra);
    }
    for (extra, param) in [
        (json!({"echo": true}), "echo"),
        (json!({"suffix": "x"}), "suffix"),
        (json!({"tools": tools}), "tools"),
    ] {
        refuses(completion(&extra), "unsupported_parameter", param, &extra);
    }
    for extra in [
        json!({"tools": tools, "tool_choice": "none"}),
        json!({"tools": [], "tool_choice": "auto"}),
        json!({"tool_choice": "none"}),
        json!({"response_format": {"type": "text"}}),
        json!({"modalities": ["text"]}),
        json!({"user": "u", "parallel_tool_calls": false, "service_tier": "auto"}),
    ] {
        assert!(
            matches!(chat(&extra).unwrap().input, Input::Chat { tools, .. } if tools.is_empty()),
            "{extra}"
        );
    }
    assert!(completion(&json!({"echo": false, "suffix": ""})).is_ok());
}

#[test]
fn template_variables_are_handed_on() {
    let kwargs = |extra: &Value| match chat(extra).unwrap().input {
        Input::Chat { kwargs, .. } => Value::Object(kwargs),
        other => panic!("{other:?}"),
    };
    let extra = json!({"chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "low"});
    assert_eq!(kwargs(&extra), json!({"enable_thinking": false, "reasoning_effort": "low"}));
    let both = json!({"chat_template_kwargs": {"reasoning_effort": "high"}, "reasoning_effort": "low"});
    assert_eq!(kwargs(&both), json!({"reasoning_effort": "high"}));
    refuses(chat(&json!({"reasoning_effort": "huge"})), "invalid_value", "reasoning_effort", &json!("huge"));
    refuses(chat(&json!({"chat_template_kwargs": []})), "invalid_type", "chat_template_kwargs", &json!([]));
}
