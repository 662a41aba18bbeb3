//! Replies, streamed and whole.

use crate::client::{Client, ask, get, post};
use crate::rig::{CHAT, STREAM, start};
use superfluid_core::Refusal;
use superfluid_core::api::codes;
use superfluid_core::wire::{JobUpdate, ToDaemon, ToWorker};

#[tokio::test]
async fn a_whole_reply() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    let job = fake.job().await;
    fake.text(job.id, "Hel");
    fake.text(job.id, "lo");
    fake.finish(job.id);
    let answer = asked.await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello");
    assert_eq!(answer.json()["usage"]["prompt_tokens"], 3);
}

#[tokio::test]
async fn case_s05_a_stream_ends_in_exactly_one_done() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    client.until("assistant").await;
    fake.text(job.id, "Hel");
    client.until("Hel").await;
    fake.text(job.id, "lo");
    fake.finish(job.id);
    let text = client.read_to_end().await;
    assert!(text.contains("text/event-stream"), "{text}");
    assert_eq!(text.matches("data: [DONE]").count(), 1, "{text}");
    assert_eq!(text.matches("\"finish_reason\":\"stop\"").count(), 1, "{text}");
    rig.idle().await;
}

#[tokio::test]
async fn case_s05_a_failure_inside_a_stream_is_one_error_event() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    fake.text(job.id, "Hel");
    client.until("Hel").await;
    let refusal = Refusal::new("device_fault", "reading /secret/place/model.gguf failed");
    fake.say(&ToDaemon::Failed { id: job.id, refusal });
    let text = client.read_to_end().await;
    assert_eq!(text.matches("\"error\"").count(), 1, "{text}");
    assert!(!text.contains("[DONE]") && !text.contains("/secret"), "{text}");
}

#[tokio::test]
async fn case_s10_what_the_worker_refuses_is_a_plain_400() {
    let (rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", STREAM)));
    let ToWorker::Submit(job) = fake.hear().await else { panic!("no job") };
    let refusal = Refusal::new(codes::CONTEXT_LENGTH_EXCEEDED, "too long");
    fake.say(&ToDaemon::Failed { id: job.id, refusal });
    let answer = asked.await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (400, codes::CONTEXT_LENGTH_EXCEEDED));
}

#[tokio::test]
async fn case_s10_a_stream_starts_though_the_worker_is_silent() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let ToWorker::Submit(_) = fake.hear().await else { panic!("no job") };
    client.until("assistant").await;
    client.until(": keep-alive\n\n").await;
}

#[tokio::test]
async fn a_client_that_does_not_read_delays_nobody_and_loses_nothing() {
    let (rig, mut fake) = start().await;
    let mut slow = Client::open(rig.address).await;
    slow.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    // Far more than socket buffers hold.
    let piece = "0123456789abcdef".repeat(4096);
    for _ in 0..200 {
        fake.say(&ToDaemon::Updates {
            jobs: vec![JobUpdate {
                id: job.id,
                tokens: vec![1],
                text: piece.clone(),
                logprobs: vec![],
                held: vec![],
            }],
        });
    }
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    let other = fake.job().await;
    fake.text(other.id, "quick");
    fake.finish(other.id);
    assert!(asked.await.unwrap().body.contains("quick"));
    fake.finish(job.id);
    let text = slow.read_to_end().await;
    assert_eq!(text.matches("0123456789abcdef").count(), 200 * 4096);
    assert_eq!(text.matches("data: [DONE]").count(), 1);
}

/// The worker is told to stop, and to go on once what there was is taken.
#[tokio::test]
async fn a_job_whose_client_does_not_read_is_paused() {
    let (rig, mut fake) = start().await;
    let mut slow = Client::open(rig.address).await;
    slow.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    let piece = "0123456789abcdef".repeat(4096);
    let mut said = 0;
    // Socket buffers take some, and the daemon what the bound allows; then it is enough.
    for _ in 0..400 {
        fake.text(job.id, &piece);
        said += 1;
    }
    assert_eq!(fake.hear().await, ToWorker::Pause { id: job.id });
    let reading = tokio::spawn(async move { slow.read_to_end().await });
    assert_eq!(fake.hear().await, ToWorker::Resume { id: job.id });
    fake.text(job.id, "and the rest");
    fake.finish(job.id);
    let text = reading.await.unwrap();
    assert_eq!(text.matches("0123456789abcdef").count(), said * 4096);
    assert!(text.contains("and the rest") && text.contains("data: [DONE]\n\n"));
}

#[tokio::test]
async fn many_tokens_of_many_jobs_in_one_frame_go_to_their_clients() {
    let (rig, mut fake) = start().await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut client = Client::open(rig.address).await;
        client.send(post("/v1/chat/completions", STREAM)).await;
        clients.push((client, fake.job().await));
    }
    for round in 0..50 {
        let jobs = clients.iter().map(|(_, job)| JobUpdate {
            id: job.id,
            tokens: vec![1],
            text: format!("<{}:{round}>", job.id.0),
            logprobs: vec![],
            held: vec![],
        });
        fake.say(&ToDaemon::Updates { jobs: jobs.collect() });
    }
    for (client, job) in &mut clients {
        fake.finish(job.id);
        let text = client.read_to_end().await;
        let marks: Vec<String> = (0..50).map(|round| format!("<{}:{round}>", job.id.0)).collect();
        assert!(marks.iter().all(|mark| text.contains(mark)), "{text}");
        assert_eq!(text.matches('<').count(), 50, "only its own");
    }
}

#[tokio::test]
async fn row_g4_models_tell_the_record_that_the_worker_reported() {
    let (rig, _fake) = start().await;
    let health = get(rig.address, "/health").await.json();
    assert_eq!((&health["status"], &health["requests"]), (&"ready".into(), &0.into()));
    let models = get(rig.address, "/v1/models").await.json();
    assert_eq!(models["data"][0]["id"], "tiny");
    assert_eq!(models["data"][0]["capabilities"]["backend"], "cpu");
    assert_eq!(models["data"][0]["context_window"], 4096);
    assert_eq!(get(rig.address, "/v1/models/tiny").await.json()["id"], "tiny");
    assert_eq!(get(rig.address, "/v1/models/other").await.code(), codes::MODEL_NOT_FOUND);
}
