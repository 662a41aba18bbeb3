//! Row G3: requests a model cannot serve, with the specification's body.

use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::{Bounds, ErrorReply, Request, parse_chat, parse_completion};
use superfluid_core::capability::{Leaf, Record, Workload, validate_request, validate_workload};

const MODEL: &str = "Qwen3-4B-Q4_K_M";

fn chat(extra: Value) -> Request {
    let mut body = json!({"model": MODEL, "messages": [{"role": "user", "content": "hi"}]});
    if let Value::Object(extra) = extra {
        body.as_object_mut().unwrap().extend(extra);
    }
    parse_chat(body.to_string().as_bytes(), &Bounds::default(), &[MODEL]).unwrap()
}

fn refused(record: &Record, request: &Request) -> Refusal {
    validate_request(record, MODEL, request).unwrap_err()
}

fn with_part(part: &Value) -> Request {
    chat(json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, part]}]}))
}

#[test]
fn row_g3_an_image_gets_the_specifications_body_to_the_letter() {
    let record = Record::primitive("llamacpp", "b11284");
    let image = with_part(&json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}));
    let reply = ErrorReply::new(&refused(&record, &image));
    assert_eq!(reply.status, 400);
    assert_eq!(
        String::from_utf8(reply.body()).unwrap(),
        concat!(
            r#"{"error":{"message":"model 'Qwen3-4B-Q4_K_M' on runtime llamacpp does not accept images: "#,
            r#"the llamacpp runtime has no media path","type":"invalid_request_error","#,
            r#""param":"messages","code":"unsupported_input"}}"#
        )
    );
}

#[test]
fn row_g3_audio_is_refused_alike_and_taken_where_the_record_says_so() {
    let audio = with_part(&json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}));
    let record = Record::primitive("mlx", "0.32.2");
    assert_eq!(
        refused(&record, &audio).message,
        "model 'Qwen3-4B-Q4_K_M' on runtime mlx does not accept audio: the mlx runtime has no media path"
    );
    assert_eq!(validate_request(&record.yes(Leaf::AudioEncode), MODEL, &audio), Ok(()));
}

#[test]
fn row_g3_workloads_a_model_does_not_serve() {
    let record = Record::primitive("llamacpp", "b11284");
    for (workload, what, why) in [
        (Workload::Embeddings, "embeddings", "the llamacpp runtime serves text generation only"),
        (Workload::Transcription, "transcription", "the llamacpp runtime has no media path"),
        (Workload::Translation, "translation", "the llamacpp runtime has no media path"),
    ] {
        let refusal = validate_workload(&record, MODEL, workload).unwrap_err();
        assert_eq!(
            (refusal.code.as_str(), refusal.param.as_deref()),
            ("unsupported_model", Some("model")),
            "{workload:?}"
        );
        assert_eq!(
            refusal.message,
            format!("model '{MODEL}' on runtime llamacpp does not serve {what}: {why}")
        );
    }
    assert_eq!(validate_workload(&record, MODEL, Workload::Generation), Ok(()));
    let encoder = record.no(Leaf::CausalGeneration, "it is an encoder");
    assert_eq!(refused(&encoder, &chat(json!({}))).code, "unsupported_model");
}

#[test]
fn row_g3_parameters_a_runtime_does_not_have() {
    let record = Record::new("basert", "0.3.1")
        .no(Leaf::LogitBias, "its sampler has none")
        .no(Leaf::Penalties, "its sampler has none")
        .with("sampling", "top_logprobs_max", 5);
    for (body, param) in [
        (json!({"logit_bias": {"5": 1}}), "logit_bias"),
        (json!({"presence_penalty": 1}), "presence_penalty"),
        (json!({"frequency_penalty": 1}), "frequency_penalty"),
        (json!({"repetition_penalty": 1.1}), "repeat_penalty"),
        (json!({"logprobs": true, "top_logprobs": 6}), "top_logprobs"),
    ] {
        let refusal = refused(&record, &chat(body));
        assert_eq!((refusal.code.as_str(), refusal.param.as_deref()), ("unsupported_parameter", Some(param)));
        assert!(refusal.message.starts_with("model 'Qwen3-4B-Q4_K_M' on runtime basert does not support "));
    }
    let fine = chat(
        json!({"logit_bias": {}, "presence_penalty": 0, "repeat_penalty": 1, "logprobs": true, "top_logprobs": 5}),
    );
    assert_eq!(validate_request(&record, MODEL, &fine), Ok(()));
    let none = record.no(Leaf::TopLogprobs, "it reports none");
    assert_eq!(refused(&none, &chat(json!({"logprobs": true}))).param.as_deref(), Some("logprobs"));
}

#[test]
fn an_unknown_leaf_refuses_nothing() {
    let image = with_part(&json!({"type": "image_url", "image_url": {"url": "data:,"}}));
    assert_eq!(validate_request(&Record::new("basert", "1"), MODEL, &image), Ok(()));
    let text = parse_completion(
        br#"{"model":"Qwen3-4B-Q4_K_M","prompt":"x","logprobs":3}"#,
        &Bounds::default(),
        &[MODEL],
    );
    let two = Record::new("basert", "1").with("sampling", "top_logprobs_max", 2);
    assert_eq!(refused(&two, &text.unwrap()).param.as_deref(), Some("logprobs"));
}
