//! Clients that go away free their lane.

use crate::client::{Client, post};
use crate::rig::{CHAT, STREAM, start};
use superfluid_core::sched::{Finish, JobId, Usage};
use superfluid_core::wire::{ToDaemon, ToWorker};
use tokio::io::AsyncWriteExt;

async fn cancelled(fake: &mut crate::fake::Fake, id: JobId) {
    let heard = loop {
        match fake.hear().await {
            ToWorker::Pause { .. } | ToWorker::Resume { .. } => {}
            heard => break heard,
        }
    };
    assert_eq!(heard, ToWorker::Cancel { id });
    fake.say(&ToDaemon::Finished { id, finish: Finish::Cancelled, usage: Usage::default() });
}

#[tokio::test]
async fn case_k08_closing_cancels_before_the_first_token_and_after_it_streamed_and_whole() {
    let (rig, mut fake) = start().await;
    for body in [STREAM, CHAT] {
        for tokens in [0, 3] {
            let mut client = Client::open(rig.address).await;
            client.send(post("/v1/chat/completions", body)).await;
            let job = fake.job().await;
            for _ in 0..tokens {
                fake.text(job.id, "x");
            }
            drop(client);
            cancelled(&mut fake, job.id).await;
            rig.idle().await;
        }
    }
}

#[tokio::test]
async fn case_k08_closing_cancels_before_the_worker_has_spoken() {
    let (rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let ToWorker::Submit(job) = fake.hear().await else { panic!("no job") };
    drop(client);
    cancelled(&mut fake, job.id).await;
    rig.idle().await;
}

#[tokio::test]
async fn case_k08_a_half_closed_client_is_gone() {
    let (rig, mut fake) = start().await;
    for body in [STREAM, CHAT] {
        let mut client = Client::open(rig.address).await;
        client.send(post("/v1/chat/completions", body)).await;
        let job = fake.job().await;
        client.socket.shutdown().await.unwrap();
        cancelled(&mut fake, job.id).await;
        rig.idle().await;
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_for_good_is_gone() {
    let http = superfluid_io_tokio::http::Config {
        write_timeout: std::time::Duration::from_millis(200),
        ..Default::default()
    };
    let (rig, mut fake) = crate::rig::start_with(http, Default::default()).await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    let piece = "x".repeat(1 << 20);
    for _ in 0..32 {
        fake.text(job.id, &piece);
    }
    cancelled(&mut fake, job.id).await;
    rig.idle().await;
}
