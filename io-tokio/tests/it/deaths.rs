//! Workers that die, and what their clients see.

use crate::client::{Client, ask, get, post};
use crate::rig::{CHAT, STREAM, come_up, start};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use superfluid_core::supervise::Status;
use superfluid_io_tokio::worker::Notice;

/// The direct children of this process.
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let ids: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    ids.into_iter().filter_map(Pid::from_raw).collect()
}

// nextest gives each test a process of its own, so every child is this test's worker.
fn kill_worker() -> Pid {
    let [worker] = children()[..] else { panic!("not one worker: {:?}", children()) };
    kill_process(worker, Signal::KILL).unwrap();
    worker
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn case_f02_a_worker_killed_mid_stream_is_reaped_and_its_successor_goes_on() {
    if std::env::var_os("NEXTEST").is_none() {
        return;
    }
    let (mut rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    fake.text(job.id, "Hel");
    client.until("Hel").await;
    let killed = kill_worker();
    let down = loop {
        if let Notice::Down { death, restart_in } = rig.notice().await.unwrap() {
            break (death, restart_in);
        }
    };
    assert!(down.0.refusal.message.contains("SIGKILL"), "{:?}", down.0);
    assert!(down.1.is_some());
    // Its grandchild still holds the pipe; the worker itself is reaped all the same.
    assert!(test_kill_process(killed).is_err(), "no zombie is left");
    // Asked while nobody is there: held, then served by the successor.
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    come_up(&mut fake).await;
    let job = fake.job().await;
    assert_eq!((job.committed, job.delivered.text), (vec![1], 3));
    fake.text(job.id, "lo");
    fake.finish(job.id);
    let text = client.read_to_end().await;
    assert!(text.contains("\"lo\"") && text.contains("[DONE]"), "{text}");
    assert_eq!(text.matches("\"Hel\"").count(), 1, "{text}");
    assert_eq!(text.matches("\"role\"").count(), 1, "{text}");
    assert!(!text.contains("\"error\""), "{text}");
    let job = fake.job().await;
    fake.text(job.id, "again");
    fake.finish(job.id);
    assert!(asked.await.unwrap().body.contains("again"));
    assert_eq!(get(rig.address, "/health").await.json()["restarts"], 1);
}

#[tokio::test]
async fn junk_on_the_wire_ends_the_worker_and_not_the_daemon() {
    let (mut rig, mut fake) = start().await;
    let asked = tokio::spawn(ask(rig.address, post("/v1/chat/completions", CHAT)));
    fake.job().await;
    fake.say_bytes(b"llama_load: some library's own line\n");
    come_up(&mut fake).await;
    fake.job().await;
    fake.say_bytes(b"llama_load: and again\n");
    let answer = asked.await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (500, "worker_failed"));
    assert!(answer.body.contains("twice in a row"), "{}", answer.body);
    let message = loop {
        if let Notice::Down { death, .. } = rig.notice().await.unwrap() {
            break death.refusal.message;
        }
    };
    assert!(message.contains("llama_load"), "{message}");
    come_up(&mut fake).await;
    rig.healthy().await;
}

#[tokio::test]
async fn draining_finishes_what_runs_and_refuses_what_comes() {
    let (mut rig, mut fake) = start().await;
    let mut client = Client::open(rig.address).await;
    client.send(post("/v1/chat/completions", STREAM)).await;
    let job = fake.job().await;
    rig.fleet.drain();
    while rig.worker().view().status != Status::Draining {
        tokio::task::yield_now().await;
    }
    let refused = ask(rig.address, post("/v1/chat/completions", CHAT)).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "shutting_down"));
    assert_eq!(get(rig.address, "/health").await.json()["status"], "draining");
    fake.text(job.id, "last words");
    fake.finish(job.id);
    let text = client.read_to_end().await;
    assert!(text.contains("last words") && text.contains("[DONE]"));
    // This worker only carries bytes and does not know that it is told to go.
    rig.fleet.stop();
    loop {
        if let Notice::Stopped { cut: 0 } = rig.notice().await.unwrap() {
            break;
        }
    }
    rig.close.send(true).unwrap();
    rig.server.await.unwrap();
}
