//! What is told of requests: metrics, ids, deadlines, numbers that are current.

use crate::client::{Answer, Client, ask, get, post};
use crate::rig::{CHAT, STREAM, ahead, start};
use superfluid_core::wire::{Stats, ToDaemon, ToWorker};

/// A chat with more headers.
fn chat(headers: &str) -> String {
    post("/v1/chat/completions", CHAT).replacen("\r\n", &format!("\r\n{headers}\r\n"), 1)
}

async fn metrics(rig: &crate::rig::Rig) -> String {
    let answer = scraped(rig, "Accept: application/openmetrics-text;version=1.0.0\r\n").await;
    assert!(answer.head.contains("content-type: application/openmetrics-text"), "{}", answer.head);
    assert!(answer.body.ends_with("# EOF\n"), "{}", answer.body);
    answer.body
}

async fn scraped(rig: &crate::rig::Rig, accept: &str) -> Answer {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{accept}Connection: close\r\n\r\n");
    let answer = ask(rig.address, request).await;
    assert_eq!(answer.status, 200);
    answer
}

#[tokio::test]
async fn metrics_are_in_the_form_that_the_scraper_asks_for() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    let job = fake.job().await;
    fake.text(job.id, "one");
    fake.text(job.id, "two");
    fake.finish(job.id);
    assert_eq!(asked.await.unwrap().status, 200);
    let counted = r#"superfluid_decode_tokens_total{model="tiny"} 2"#;
    for accept in ["", "Accept: text/plain;version=0.0.4\r\n", "Accept: */*\r\n"] {
        let plain = scraped(&rig, accept).await;
        assert!(plain.head.contains("content-type: text/plain; version=0.0.4"), "{}", plain.head);
        // The older form names a counter as its samples are named, and ends without a mark.
        for part in ["# TYPE superfluid_decode_tokens_total counter\n", counted] {
            assert!(plain.body.contains(part), "{part} is not in\n{}", plain.body);
        }
        assert!(!plain.body.contains("# EOF") && !plain.body.contains("# UNIT"), "{}", plain.body);
    }
    let open = metrics(&rig).await;
    for part in [
        "# TYPE superfluid_decode_tokens counter\n",
        "# UNIT superfluid_decode_tokens tokens\n",
        "# UNIT superfluid_time_to_first_token_seconds seconds\n",
        "# UNIT superfluid_inter_token_seconds seconds\n",
        "# UNIT superfluid_kv_cache_usage_ratio ratio\n",
        counted,
    ] {
        assert!(open.contains(part), "{part} is not in\n{open}");
    }
}

#[tokio::test]
async fn metrics_count_requests_tokens_and_times() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    let job = fake.job().await;
    fake.text(job.id, "one");
    fake.text(job.id, "two");
    fake.finish(job.id);
    assert_eq!(asked.await.unwrap().status, 200);
    let text = metrics(&rig).await;
    for line in [
        r#"superfluid_requests_total{model="tiny",class="agent",finish="stop"} 1"#,
        r#"superfluid_time_to_first_token_seconds_count{model="tiny",class="agent"} 1"#,
        r#"superfluid_inter_token_seconds_count{model="tiny"} 1"#,
        r#"superfluid_decode_tokens_total{model="tiny"} 2"#,
        r#"superfluid_worker_restarts_total{model="tiny"} 0"#,
        r#"superfluid_model_loaded{model="tiny"} 1"#,
        r#"superfluid_lanes{model="tiny"} 2"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn the_figures_gateways_route_on_are_current() {
    let (rig, mut fake) = start().await;
    for _ in 0..3 {
        tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
        fake.job().await;
    }
    let stats =
        Stats { running: 2, waiting: 1, queued: [0, 1, 0], held: 4096, cells: 5000, ..Stats::default() };
    let stats = Stats { paused: 1, prefilled: [8, 9, 10], ..stats };
    fake.say(&ToDaemon::Stats(Stats { preempted: 4, reused: [5, 6, 7], ..stats }));
    while get(rig.address, "/health").await.json()["running"] != 2 {}
    let text = metrics(&rig).await;
    for line in [
        r#"superfluid_requests_running{model="tiny"} 2.0"#,
        r#"superfluid_requests_waiting{model="tiny"} 1.0"#,
        r#"superfluid_kv_cache_usage_ratio{model="tiny"} 0.5"#,
        r#"superfluid_kv_cells_held{model="tiny"} 4096"#,
        r#"superfluid_kv_cells_kept{model="tiny"} 904"#,
        r#"superfluid_requests_paused{model="tiny"} 1"#,
        r#"superfluid_prefill_tokens_total{model="tiny",work="first"} 8"#,
        r#"superfluid_prefill_tokens_total{model="tiny",work="again"} 9"#,
        r#"superfluid_prefill_tokens_total{model="tiny",work="lost"} 10"#,
        r#"superfluid_queue_requests{model="tiny",class="agent"} 1.0"#,
        r#"superfluid_preemptions_total{model="tiny"} 4"#,
        r#"superfluid_cached_tokens_total{model="tiny",tier="disk"} 7"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// A stream that runs for long is seen while it does.
#[tokio::test]
async fn tokens_are_counted_as_they_come() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    for (count, word) in [(1, "one"), (2, "two")] {
        fake.text(job.id, word);
        client.until(word).await;
        let text = metrics(&rig).await;
        let line = format!(r#"superfluid_decode_tokens_total{{model="tiny"}} {count}"#);
        assert!(text.contains(&line), "{line} is not in\n{text}");
        let line = r#"superfluid_time_to_first_token_seconds_count{model="tiny",class="agent"} 1"#;
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    fake.finish(job.id);
    client.read_to_end().await;
    assert!(metrics(&rig).await.contains(r#"superfluid_decode_tokens_total{model="tiny"} 2"#));
}

#[tokio::test]
async fn counts_survive_the_worker() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    let job = fake.job().await;
    fake.say(&ToDaemon::Stats(Stats { running: 1, preempted: 4, reused: [5, 0, 0], ..Stats::default() }));
    fake.text(job.id, "one");
    fake.say_bytes(b"ggml_abort\n");
    crate::rig::come_up(&mut fake).await;
    let job = fake.job().await;
    fake.say(&ToDaemon::Stats(Stats { running: 1, preempted: 1, reused: [2, 0, 0], ..Stats::default() }));
    fake.finish(job.id);
    assert_eq!(asked.await.unwrap().status, 200);
    let text = metrics(&rig).await;
    for line in [
        r#"superfluid_worker_restarts_total{model="tiny"} 1"#,
        r#"superfluid_continuations_total{model="tiny"} 1"#,
        r#"superfluid_preemptions_total{model="tiny"} 5"#,
        r#"superfluid_cached_tokens_total{model="tiny",tier="device"} 7"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn refusals_are_counted_by_code_and_clients_that_leave_are_told_apart() {
    let (rig, mut fake) = start().await;
    assert_eq!(ask(rig.address, post("/v1/chat/completions", "{")).await.status, 400);
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    fake.text(job.id, "one");
    client.until("one").await;
    drop(client);
    while !matches!(fake.hear().await, ToWorker::Cancel { .. }) {}
    let text = metrics(&rig).await;
    for line in [
        r#"superfluid_refusals_total{model="",code="invalid_json"} 1"#,
        r#"superfluid_requests_total{model="tiny",class="agent",finish="gone"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Far off: nothing reaches it before the clock is let run ahead.
const LATER: &str = "X-Superfluid-Deadline-Ms: 30000";

#[tokio::test]
async fn a_deadline_fails_what_waits_and_takes_it_from_the_worker() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, chat(LATER)));
    let job = fake.job().await;
    let answer = ahead(asked).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (504, "deadline_exceeded"));
    assert_eq!(fake.hear().await, ToWorker::Cancel { id: job.id });
    for bad in ["0", "-1", "1.5", "soon", "86400001", ""] {
        let answer = ask(rig.address, chat(&format!("X-Superfluid-Deadline-Ms: {bad}"))).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_header"), "{bad:?}");
    }
}

#[tokio::test]
async fn a_deadline_ends_a_stream_that_has_begun_with_an_error() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    let stream = post("/v1/chat/completions", STREAM);
    client.send(stream.replacen("\r\n", &format!("\r\n{LATER}\r\n"), 1)).await;
    let job = fake.job().await;
    fake.text(job.id, "one");
    client.until("one").await;
    let text = ahead(client.read_to_end()).await;
    assert_eq!(text.matches("deadline_exceeded").count(), 1, "{text}");
    assert!(!text.contains("[DONE]"), "{text}");
    assert_eq!(fake.hear().await, ToWorker::Cancel { id: job.id });
    let line = r#"superfluid_requests_total{model="tiny",class="agent",finish="error"} 1"#;
    let text = metrics(&rig).await;
    assert!(text.contains(line), "{text}");
}

#[tokio::test]
async fn a_reply_has_the_request_s_id() {
    let (rig, _fake) = start().await;
    let with =
        |id: &str| format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{id}Connection: close\r\n\r\n");
    let good = ask(rig.address, with("X-Request-Id: trace-7.a:b_c\r\n")).await;
    assert!(good.head.contains("x-request-id: trace-7.a:b_c\r\n"), "{}", good.head);
    for other in
        ["".to_string(), "X-Request-Id: a b\r\n".into(), format!("X-Request-Id: {}\r\n", "x".repeat(129))]
    {
        let answer = ask(rig.address, with(&other)).await;
        assert!(answer.head.contains("x-request-id: req-"), "{}", answer.head);
    }
    let missing = get(rig.address, "/nowhere").await;
    assert!(missing.status == 404 && missing.head.contains("x-request-id: req-"), "{}", missing.head);
}
