//! Several prompts in one completion, over the wire.

use crate::client::{Client, ask, get, post};
use crate::rig::start;
use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::codes;
use superfluid_core::wire::{Input, ToDaemon, ToWorker};

fn two(extra: &Value) -> String {
    let mut body = json!({"model": "tiny", "prompt": ["a", [7, 8]], "max_tokens": 5});
    for (name, value) in extra.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    post("/v1/completions", &body.to_string())
}

#[tokio::test]
async fn each_prompt_is_a_job_and_makes_a_choice() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, two(&json!({}))));
    let (first, second) = (fake.job().await, fake.job().await);
    assert_eq!(first.input, Input::Text { text: "a".into() });
    assert_eq!(second.input, Input::Tokens { tokens: vec![7, 8] });
    // Nobody gave a seed, and the same prompt twice is to be answered differently.
    assert_ne!((first.id, first.sampling.seed), (second.id, second.sampling.seed));
    while get(rig.address, "/health").await.json()["requests"] != 2 {}
    fake.text(second.id, "two");
    fake.finish(second.id);
    fake.text(first.id, "one");
    fake.finish(first.id);
    let answer = asked.await.unwrap();
    let choices = answer.json()["choices"].clone();
    assert_eq!((&choices[0]["text"], &choices[1]["text"]), (&"one".into(), &"two".into()));
    assert_eq!((&choices[0]["index"], &choices[1]["index"]), (&0.into(), &1.into()));
    assert_eq!(answer.json()["usage"]["total_tokens"], 10);
}

#[tokio::test]
async fn a_stream_of_several_choices_has_one_end() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(two(&json!({"stream": true, "stream_options": {"include_usage": true}}))).await;
    let (first, second) = (fake.job().await, fake.job().await);
    fake.text(second.id, "two");
    client.until("two").await;
    fake.finish(second.id);
    fake.text(first.id, "one");
    fake.finish(first.id);
    let text = client.read_to_end().await;
    assert!(
        text.contains(r#"{"index":1,"text":"two""#) && text.contains(r#"{"index":0,"text":"one""#),
        "{text}"
    );
    assert_eq!(text.matches(r#""finish_reason":"stop""#).count(), 2, "{text}");
    assert_eq!(text.matches(r#""total_tokens":10"#).count(), 1, "{text}");
    assert_eq!(text.matches("data: [DONE]").count(), 1, "{text}");
    rig.idle().await;
}

#[tokio::test]
async fn one_that_fails_ends_the_request_and_cancels_the_others() {
    let (rig, mut fake) = start().await;
    for stream in [false, true] {
        let asked = tokio::spawn(ask(rig.address, two(&json!({"stream": stream}))));
        let first = fake.job().await;
        let ToWorker::Submit(second) = fake.hear().await else { panic!("no second job") };
        let refusal = Refusal::new(codes::CONTEXT_LENGTH_EXCEEDED, "too long");
        fake.say(&ToDaemon::Failed { id: second.id, refusal });
        let answer = asked.await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (400, codes::CONTEXT_LENGTH_EXCEEDED));
        assert!(answer.body.contains("prompt[1]: too long"), "{}", answer.body);
        assert_eq!(fake.hear().await, ToWorker::Cancel { id: first.id });
    }
    let mut client = Client::open(rig.address).await;
    client.send(two(&json!({"stream": true}))).await;
    let (first, second) = (fake.job().await, fake.job().await);
    fake.text(first.id, "one");
    client.until("one").await;
    fake.say(&ToDaemon::Failed { id: first.id, refusal: Refusal::new("device_fault", "it broke") });
    let text = client.read_to_end().await;
    assert!(text.matches("device_fault").count() == 1 && !text.contains("[DONE]"), "{text}");
    assert_eq!(fake.hear().await, ToWorker::Cancel { id: second.id });
    // The log and the metrics don't take the others for clients that left.
    let metrics = get(rig.address, "/metrics").await.body;
    for (finish, count) in [("error", 3), ("cancelled", 3)] {
        let line =
            format!(r#"superfluid_requests_total{{model="tiny",class="agent",finish="{finish}"}} {count}"#);
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_every_prompt_s_job() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(two(&json!({"stream": true}))).await;
    let (first, second) = (fake.job().await, fake.job().await);
    fake.text(first.id, "one");
    client.until("one").await;
    drop(client);
    let mut cancelled = Vec::new();
    while cancelled.len() < 2 {
        if let ToWorker::Cancel { id } = fake.hear().await {
            cancelled.push(id);
        }
    }
    cancelled.sort();
    assert_eq!(cancelled, [first.id, second.id]);
}
