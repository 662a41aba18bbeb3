//! Whatever bytes come, and whatever a worker says in whatever order.

use super::play::{judge, play};
use super::reply::{T0, USAGE, update};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use superfluid_core::api::{ErrorReply, Output, Reply};
use superfluid_core::sched::Finish;
use superfluid_core::{Duration, Refusal};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        prop_oneof![Just("mock"), Just("user"), Just("text"), Just("none"), Just(""), Just("\u{0}\u{fffd}")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 5, |inner| {
        let key = prop_oneof![
            Just("role"),
            Just("content"),
            Just("type"),
            Just("text"),
            Just("tool_calls"),
            Just("function"),
            Just("name"),
            Just("arguments"),
            Just("id"),
            Just("5"),
            Just("include_usage"),
            Just("image_url"),
        ]
        .prop_map(String::from);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A body of fields that the endpoints know, with values that are often nearly right.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        Just("messages"),
        Just("prompt"),
        Just("max_tokens"),
        Just("temperature"),
        Just("top_p"),
        Just("top_k"),
        Just("logit_bias"),
        Just("seed"),
        Just("stop"),
        Just("stream"),
        Just("stream_options"),
        Just("logprobs"),
        Just("top_logprobs"),
        Just("n"),
        Just("tools"),
        Just("tool_choice"),
        Just("response_format"),
        Just("echo"),
        Just("chat_template_kwargs"),
        Just("metadata"),
    ]
    .prop_map(String::from);
    proptest::collection::btree_map(name, json_value(), 0..6).prop_map(|map| {
        let mut value = Value::Object(map.into_iter().collect());
        value["model"] = "mock".into();
        value.to_string().into_bytes()
    })
}

#[derive(Clone, Debug)]
enum Input {
    Accepted,
    Update(String),
    Finished(Finish),
    Failed,
    Timeout,
    Wait(u64),
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    vec(
        prop_oneof![
            2 => Just(Input::Accepted),
            5 => "[a-z\n\"\u{1f60a}]{0,4}".prop_map(Input::Update),
            1 => prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::Cancelled)].prop_map(Input::Finished),
            1 => Just(Input::Failed),
            3 => Just(Input::Timeout),
            3 => (0..20_000_u64).prop_map(Input::Wait),
        ],
        0..40,
    )
}

proptest! {
    #[test]
    fn bytes_never_panic_and_every_refusal_is_the_clients(bytes in vec(any::<u8>(), 0..200)) {
        play(&bytes);
    }

    #[test]
    fn bytes_that_choose_fields_never_end_in_a_500(bytes in vec(1..u8::MAX, 0..200)) {
        play(&bytes);
    }

    #[test]
    fn nearly_json_never_panics(text in r#"[\[\]{}",:\\a0-9eu .-]{0,60}"#) {
        judge(text.as_bytes());
    }

    #[test]
    fn known_fields_with_odd_values_are_taken_or_refused(body in body()) {
        judge(&body);
    }

    #[test]
    fn no_message_holds_an_absolute_path(
        words in vec(prop_oneof!["[a-z:'\"(,]{0,3}", "/(home|root)(/[a-z. \u{e9}]{0,3}){0,3}", Just("/v1/models".to_string())], 0..6),
    ) {
        let told = ErrorReply::new(&Refusal::new("x", words.join(" "))).message;
        prop_assert!(!told.contains("/home/") && !told.contains("/root/"), "{:?} of {:?}", told, words);
    }

    #[test]
    fn every_reply_has_one_head_and_at_most_one_terminal(
        inputs in inputs(),
        stream in any::<bool>(),
        usage in any::<bool>(),
        prompts in 0..4_usize,
        at in vec(0..4_usize, 40),
    ) {
        // None is a chat, which has one choice too.
        let (chat, choices) = (prompts == 0, prompts.max(1));
        let mut extra = json!({"stream": stream});
        if stream {
            extra["stream_options"] = json!({"include_usage": usage});
        }
        if !chat {
            extra["prompt"] = vec!["x"; choices].into();
        }
        let request = if chat { super::chat(&extra) } else { super::completion(&extra) }.unwrap();
        let mut reply = Reply::new(&request, "1", 0, T0);
        let (mut now, mut said, mut finished) = (T0, vec![String::new(); choices], vec![false; choices]);
        let (mut heads, mut ends, mut body) = (Vec::new(), 0, Vec::new());
        for (input, choice) in inputs.into_iter().zip(at) {
            let over = reply.is_over();
            let none = over || finished.get(choice) != Some(&false);
            let taken = match &input {
                Input::Accepted => reply.handle_accepted(choice, now),
                Input::Update(text) => {
                    if !none {
                        said[choice].push_str(text);
                    }
                    reply.handle_update(choice, &update(text), now)
                }
                Input::Finished(finish) => {
                    if !none {
                        finished[choice] = true;
                    }
                    reply.handle_finished(choice, *finish, USAGE, now)
                }
                Input::Failed => reply.handle_failed(choice, &Refusal::new("worker_failed", "it died"), now),
                Input::Timeout => reply.handle_timeout(now),
                Input::Wait(millis) => {
                    now = now + Duration::from_millis(*millis);
                    continue;
                }
            };
            prop_assert_eq!(taken.is_err(), if matches!(input, Input::Timeout) { over } else { none });
            reply.check_invariants().unwrap();
            while let Some(output) = reply.poll_output() {
                prop_assert_eq!(ends, 0);
                match output {
                    Output::Head { status, .. } => {
                        prop_assert!(body.is_empty());
                        heads.push(status);
                    }
                    Output::Bytes(bytes) => {
                        prop_assert_eq!(heads.len(), 1);
                        prop_assert!(!stream || heads[0] != 200 || bytes.ends_with(b"\n\n"));
                        body.extend(bytes);
                    }
                    Output::End => ends += 1,
                }
            }
            prop_assert_eq!(ends == 1, reply.is_over());
            if let Some((at, _)) = reply.poll_timeout() {
                prop_assert!(stream && ends == 0 && at > T0);
            }
        }
        prop_assert!(heads.len() <= 1);
        if ends == 0 {
            return Ok(());
        }
        let body = String::from_utf8(body).unwrap();
        if stream && heads[0] == 200 {
            let errors = body.matches("data: {\"error\":").count();
            let dones = body.matches("data: [DONE]").count();
            prop_assert_eq!(errors + dones, 1);
            prop_assert_eq!(body.matches("\"usage\":{").count(), usize::from(usage && dones == 1));
            prop_assert_eq!(body.matches("\"role\":").count(), usize::from(chat));
            for (index, said) in said.iter().enumerate() {
                prop_assert_eq!(&text_of(&body, index), said);
            }
        } else if heads[0] == 200 {
            let body: Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(body["choices"].as_array().unwrap().len(), choices);
            prop_assert_eq!(&body["usage"]["prompt_tokens"], USAGE.prompt as usize * choices);
            for (index, said) in said.iter().enumerate() {
                let choice = &body["choices"][index];
                let text = if chat { &choice["message"]["content"] } else { &choice["text"] };
                prop_assert_eq!((text, &choice["index"]), (&said.as_str().into(), &index.into()));
            }
        } else {
            let body: Value = serde_json::from_str(&body).unwrap();
            prop_assert!(body["error"]["message"].is_string());
        }
    }
}

/// What the fuzzer found worth keeping, and the bodies of public bug reports.
#[test]
fn the_corpus_plays() {
    crate::corpus::each("api", play);
}

/// What a client joins from a stream's chunks of one choice.
fn text_of(body: &str, index: usize) -> String {
    body.split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| {
            let choice = chunk["choices"].get(0).filter(|choice| choice["index"] == index)?;
            Some(choice["delta"]["content"].as_str().or(choice["text"].as_str())?.to_owned())
        })
        .collect()
}
