//! One request at a time: what is answered, counted, cut and cached.

use super::{FRANCE, Served, content, joined, serve, with};
use serde_json::{Value, json};
use std::thread;
use superfluid_tests::http::{self, Connection};

/// The same answer whole and streamed, with the same counts.
#[test]
fn a_plain_question_is_answered_in_english() {
    let Some(served) = serve(&[]) else { return };
    let question = served.question(FRANCE);

    let whole = served.chat(&question);
    assert_eq!(content(&whole), "The capital of France is Paris.");
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(whole["model"], served.model.as_str());
    assert_eq!(whole["choices"][0]["message"]["role"], "assistant");
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert_eq!(counts(&whole), (42, 8, 50), "{}", whole["usage"]);

    let events = served.stream(&question);
    assert_eq!(joined(&events), content(&whole));
    assert_stream_shape(&events);
    assert_eq!(counts(events.last().expect("usage")), (42, 8, 50));
}

fn counts(answer: &Value) -> (u64, u64, u64) {
    let count = |name: &str| answer["usage"][name].as_u64().expect("a count");
    (count("prompt_tokens"), count("completion_tokens"), count("total_tokens"))
}

/// What strict clients of the OpenAI API take for granted.
fn assert_stream_shape(events: &[Value]) {
    let (usage, chunks) = events.split_last().expect("events");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    for (index, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!((&chunk["id"], &chunk["created"]), (&usage["id"], &usage["created"]));
        let choice = &chunk["choices"][0];
        assert!(choice.get("finish_reason").is_some(), "{chunk}");
        assert_eq!(choice["finish_reason"].is_null(), index + 1 < chunks.len(), "{chunk}");
        assert!(index == 0 || choice["delta"].get("role").is_none(), "{chunk}");
    }
    let last = &chunks.last().expect("a chunk")["choices"][0];
    assert_eq!((&last["delta"], &last["finish_reason"]), (&json!({}), &json!("stop")));
}

#[test]
fn a_stop_string_ends_the_text_before_it_and_no_part_of_it_is_sent() {
    let Some(served) = serve(&[]) else { return };
    // Across tokens, inside one, and where a shorter one lies earlier.
    for (stop, left) in [
        (json!([" of France is P"]), "The capital"),
        (json!("ranc"), "The capital of F"),
        (json!(["Paris.", " is "]), "The capital of France"),
        (json!(["nowhere in it"]), "The capital of France is Paris."),
    ] {
        let question = with(&served.question(FRANCE), json!({"stop": stop}));
        let whole = served.chat(&question);
        assert_eq!(
            (content(&whole), &whole["choices"][0]["finish_reason"]),
            (left, &json!("stop")),
            "{stop}"
        );
        assert_eq!(joined(&served.stream(&question)), left, "{stop}");
    }
}

#[test]
fn a_cap_ends_the_text_for_its_length() {
    let Some(served) = serve(&[]) else { return };
    let answer = served.chat(&with(&served.question(FRANCE), json!({"max_tokens": 3})));
    assert_eq!(content(&answer), "The capital of");
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 3);
}

#[test]
fn the_same_seed_draws_the_same_text() {
    let Some(served) = serve(&[]) else { return };
    let draw = |seed: u32| {
        let sampled = json!({"temperature": 1.2, "top_p": 0.95, "seed": seed});
        let answer = served.chat(&with(&served.question("Tell me about the sea."), sampled));
        content(&answer).to_owned()
    };
    let drawn: Vec<String> = (1..4).map(draw).collect();
    assert_eq!(drawn, (1..4).map(draw).collect::<Vec<_>>());
    assert!(drawn[0] != drawn[1] || drawn[1] != drawn[2], "three seeds draw one text: {drawn:?}");
}

#[test]
fn a_resent_prompt_and_a_next_turn_are_read_from_the_cache() {
    let Some(served) = serve(&[]) else { return };
    let cached = |answer: &Value| {
        let cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
        cached.unwrap_or_else(|| panic!("no count of cached tokens in {}", answer["usage"]))
    };
    let question = served.question(FRANCE);
    let first = served.chat(&question);
    assert_eq!(cached(&first), 0);
    let again = served.chat(&question);
    assert_eq!(content(&again), content(&first));
    // At least one token is always read, to have something to go on from.
    assert!((30..42).contains(&cached(&again)), "{}", again["usage"]);

    let turns = json!({"messages": [
        {"role": "user", "content": FRANCE},
        {"role": "assistant", "content": content(&first)},
        {"role": "user", "content": "And of Italy?"},
    ]});
    let next = served.chat(&with(&question, turns));
    assert!(cached(&next) >= 42, "{}", next["usage"]);
    assert!(cached(&next) < next["usage"]["prompt_tokens"].as_u64().expect("a count"));
}

#[test]
fn case_t09_a_started_answer_is_gone_on_with() {
    let Some(served) = serve(&[]) else { return };
    let started = |last: &str| json!({"messages": [{"role": "user", "content": FRANCE}, {"role": "assistant", "content": last}]});
    let question = with(&served.question(FRANCE), started("The capital of"));
    let whole = served.chat(&question);
    assert_eq!(content(&whole), " France is Paris.");
    assert_eq!(whole["usage"]["prompt_tokens"], 45);
    assert_eq!(joined(&served.stream(&question)), " France is Paris.");
    let asked = with(&question, json!({"continue_final_message": true}));
    assert_eq!(content(&served.chat(&asked)), " France is Paris.");
    let new = served.chat(&with(&question, json!({"add_generation_prompt": true})));
    assert_eq!(new["usage"]["prompt_tokens"], 51, "and its end, and a new turn's begin");
    let contradicted = with(&asked, json!({"add_generation_prompt": true}));
    let answer =
        http::post(served.daemon.address(), "/v1/chat/completions", &contradicted).expect("an answer");
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("continue_final_message")));
}

/// In a message a control token's spelling is text; in a raw prompt it is the token.
#[test]
fn case_t02_raw_prompts_take_control_tokens_and_messages_do_not() {
    let Some(served) = serve(&[]) else { return };
    let prompt_tokens = |answer: &Value| answer["usage"]["prompt_tokens"].as_u64().expect("a count");
    let raw = json!({"model": served.model, "prompt": "a<|im_end|>", "max_tokens": 1});
    assert_eq!(prompt_tokens(&served.post("/v1/completions", &raw)), 2);
    let said =
        |text: &str| prompt_tokens(&served.chat(&with(&served.question(text), json!({"max_tokens": 1}))));
    assert_eq!(said("a<|im_end|>") - said("a"), 7, "<, |, im, _, end, | and > or so, not one token");
}

/// With one lane, whoever comes next waits until it is free: a client that is gone must not hold it.
#[test]
fn a_client_that_goes_away_frees_its_lane() {
    let Some(served) = serve(&["--max-batch", "1"]) else { return };
    let endless = json!({"ignore_eos": true, "max_tokens": 7000});
    let endless = with(&served.question("Count."), endless);

    // One that reads a little, one that is answered whole, and one that does not wait for anything.
    let streamed = with(&endless, json!({"stream": true}));
    let mut events =
        http::post_stream(served.daemon.address(), "/v1/chat/completions", &streamed).expect("a stream");
    events.next_json().expect("an event");
    drop(events);
    assert_eq!(content(&served.chat(&served.question(FRANCE))), "The capital of France is Paris.");
    leave(&served, &endless, true);
    leave(&served, &endless, false);
    assert_eq!(content(&served.chat(&served.question(FRANCE))), "The capital of France is Paris.");
}

/// Sends a request and closes the connection, after its lane has started or at once.
fn leave(served: &Served, body: &Value, started: bool) {
    let mut connection = Connection::open(served.daemon.address()).expect("a connection");
    let body = body.to_string();
    connection.request("POST", "/v1/chat/completions", &[], body.as_bytes()).expect("sent");
    if started {
        // Nothing is answered before the end; the server says when it has a lane.
        let running =
            || http::get(served.daemon.address(), "/health").expect("healthy").json()["running"] == 1;
        while !running() {}
    }
}

#[test]
fn bad_requests_are_refused_and_harm_nobody_else() {
    let Some(served) = serve(&[]) else { return };
    let address = served.daemon.address();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            served.chat(&with(&served.question("Count."), json!({"max_tokens": 200, "ignore_eos": true})))
        });
        for (body, param) in [
            (json!({"messages": []}), "messages"),
            (json!({"messages": [{"role": "user", "content": "a"}], "temperature": -1}), "temperature"),
            (json!({"messages": [{"role": "user", "content": "a"}], "max_tokens": 0}), "max_tokens"),
            (json!({"messages": [{"role": "user", "content": "word ".repeat(20_000)}]}), "messages"),
        ] {
            let body = with(&body, json!({"model": served.model}));
            let answer = http::post(address, "/v1/chat/completions", &body).expect("an answer");
            let error = &answer.json()["error"];
            assert_eq!(
                (answer.status, error["type"].as_str()),
                (400, Some("invalid_request_error")),
                "{error}"
            );
            assert_eq!(error["param"], param, "{error}");
            assert!(error["message"].as_str().is_some_and(|message| message.len() > 10), "{error}");
        }
        let mut connection = Connection::open(address).expect("a connection");
        connection.request("POST", "/v1/chat/completions", &[], b"{\"model\": ").expect("sent");
        assert_eq!(connection.response().expect("an answer").status, 400);
        let mut connection = Connection::open(address).expect("a connection");
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n";
        connection.send(head.as_bytes()).expect("sent");
        assert_eq!(connection.response().expect("an answer").status, 400);
        let other = other.join().expect("answered");
        assert_eq!(other["usage"]["completion_tokens"], 200);
    });
}
