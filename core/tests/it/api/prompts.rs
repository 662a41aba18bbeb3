//! Several prompts in one completion: a choice each.

use super::reply::{T0, USAGE, completion_reply, drain, update};
use serde_json::{Value, json};
use superfluid_core::api::{Reply, Wake};
use superfluid_core::sched::Finish;
use superfluid_core::{Misuse, Refusal};

fn two(extra: &Value) -> Reply {
    let mut all = json!({"prompt": ["a", "b"]});
    super::overlay(&mut all, extra);
    completion_reply(&all)
}

#[test]
fn a_whole_reply_has_a_choice_for_each_prompt_in_its_order() {
    let mut reply = two(&json!({}));
    reply.handle_update(1, &update("B"), T0).unwrap();
    reply.handle_finished(1, Finish::Length, USAGE, T0).unwrap();
    assert_eq!(drain(&mut reply), (None, String::new(), false));
    reply.handle_update(0, &update("A"), T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (Some(200), true));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body["choices"],
        json!([
            {"index": 0, "text": "A", "logprobs": null, "finish_reason": "stop"},
            {"index": 1, "text": "B", "logprobs": null, "finish_reason": "length"},
        ])
    );
    assert_eq!(
        body["usage"],
        json!({"prompt_tokens": 14, "completion_tokens": 6, "total_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 8}})
    );
}

#[test]
fn chunks_say_whose_they_are_and_usage_comes_once() {
    let mut reply = two(&json!({"stream": true, "stream_options": {"include_usage": true}}));
    reply.handle_accepted(1, T0).unwrap();
    // The other one may still be refused with a status of its own.
    assert!(!reply.is_started() && matches!(reply.poll_timeout(), Some((_, Wake::Start))));
    reply.handle_accepted(0, T0).unwrap();
    assert!(reply.is_started());
    reply.handle_update(1, &update("B"), T0).unwrap();
    reply.handle_update(0, &update("A"), T0).unwrap();
    reply.handle_finished(1, Finish::Stop, USAGE, T0).unwrap();
    reply.handle_update(0, &update("a"), T0).unwrap();
    reply.handle_finished(0, Finish::Length, USAGE, T0).unwrap();
    insta::assert_snapshot!(drain(&mut reply).1);
}

#[test]
fn one_that_fails_is_the_end_of_all() {
    let refusal = Refusal::new("context_length_exceeded", "too long").param("prompt");
    let mut reply = two(&json!({"stream": true}));
    reply.handle_accepted(0, T0).unwrap();
    reply.handle_failed(1, &refusal, T0).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (Some(400), true));
    assert!(body.contains(r#""message":"prompt[1]: too long""#), "{body}");

    let mut reply = two(&json!({"stream": true}));
    reply.handle_update(0, &update("A"), T0).unwrap();
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    reply.handle_failed(1, &Refusal::new("worker_failed", "it died"), T0).unwrap();
    let (status, body, ended) = drain(&mut reply);
    assert_eq!((status, ended), (Some(200), true));
    assert_eq!(body.matches("data: {\"error\"").count(), 1, "{body}");
    assert!(body.contains("\"it died\"") && !body.contains("[DONE]"), "{body}");
}

#[test]
fn a_choice_that_is_over_or_is_none_takes_nothing() {
    let mut reply = two(&json!({}));
    reply.handle_finished(0, Finish::Stop, USAGE, T0).unwrap();
    for choice in [0, 2, usize::MAX] {
        assert!(matches!(reply.handle_accepted(choice, T0), Err(Misuse::State(_))));
        assert!(matches!(reply.handle_update(choice, &update("x"), T0), Err(Misuse::State(_))));
        assert!(matches!(reply.handle_finished(choice, Finish::Stop, USAGE, T0), Err(Misuse::State(_))));
        assert!(matches!(reply.handle_failed(choice, &Refusal::new("x", "y"), T0), Err(Misuse::State(_))));
    }
    reply.handle_update(1, &update("B"), T0).unwrap();
    reply.handle_finished(1, Finish::Stop, USAGE, T0).unwrap();
    let body: Value = serde_json::from_str(&drain(&mut reply).1).unwrap();
    assert_eq!((&body["choices"][0]["text"], &body["choices"][1]["text"]), (&"".into(), &"B".into()));
}
