//! Several models behind one server.

use crate::client::{Answer, Client, ask, get, post};
use crate::fake::{Fake, shell};
use crate::rig::{come_up, fleet_config, loaded, model};
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;
use superfluid_core::access::Access;
use superfluid_core::wire::{LoadSpec, PROTOCOL, ToDaemon, ToWorker};
use superfluid_core::{Refusal, fleet as machine, supervise};
use superfluid_io_tokio::fleet::{self, Fleet, Launch};
use superfluid_io_tokio::http::{self, Server};
use superfluid_io_tokio::worker::Program;
use tokio::sync::watch;
use tokio::task::JoinHandle;

struct Many {
    address: SocketAddr,
    fleet: Fleet,
    _close: watch::Sender<bool>,
}

async fn serve(
    config: machine::Config,
    supervise: supervise::Config,
    http: http::Config,
    models: Vec<(&'static str, bool, Program)>,
) -> Many {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap();
    let listed = models.iter().map(|(id, at_start, _)| model(id, *at_start)).collect();
    let prepare = move |at: machine::ModelIx| {
        let launch = Launch { program: models[at.0].2.clone(), spec: LoadSpec::default() };
        Box::pin(std::future::ready(Ok(launch))) as Pin<Box<dyn Future<Output = _> + Send>>
    };
    let (fleet, _) = fleet::start(config, supervise, listed, Box::new(prepare));
    let (close, closed) = watch::channel(false);
    tokio::spawn(server.run(http, fleet.clone(), closed));
    Many { address, fleet, _close: close }
}

/// Two models, `a` asked for at the start and up, `b` to be loaded on its first use.
async fn two(config: machine::Config, supervise: supervise::Config) -> (Many, Fake, Fake) {
    let (mut a, b) = (Fake::new(), Fake::new());
    let models = vec![("a", true, a.program()), ("b", false, b.program())];
    let many = serve(config, supervise, http::Config::default(), models).await;
    come_up(&mut a).await;
    while get(many.address, "/ready").await.status != 200 {}
    (many, a, b)
}

fn chat(model: &str, stream: bool) -> String {
    let body =
        format!(r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#);
    post("/v1/chat/completions", &body)
}

fn named(path: &str, model: &str) -> String {
    post(path, &format!(r#"{{"model":"{model}"}}"#))
}

fn asked(many: &Many, request: String) -> JoinHandle<Answer> {
    tokio::spawn(ask(many.address, request))
}

async fn states(many: &Many) -> Vec<(String, String)> {
    let list = get(many.address, "/v1/models").await.json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    list["data"].as_array().unwrap().iter().map(|one| (text(&one["id"]), text(&one["state"]))).collect()
}

async fn state_of_b(many: &Many, wanted: &str) {
    while states(many).await[1].1 != wanted {
        tokio::task::yield_now().await;
    }
}

async fn answer(fake: &mut Fake, text: &str) {
    let job = fake.job().await;
    fake.text(job.id, text);
    fake.finish(job.id);
}

#[tokio::test]
async fn eight_first_requests_load_once_and_all_are_answered() {
    let (many, _a, mut b) = two(fleet_config(), supervise::Config::default()).await;
    let all: Vec<_> = (0..8).map(|at| asked(&many, chat("b", at % 2 == 0))).collect();
    come_up(&mut b).await;
    for _ in 0..8 {
        answer(&mut b, "hello").await;
    }
    for one in all {
        let answer = one.await.unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("hello"), "{}", answer.body);
    }
    assert_eq!(states(&many).await, [("a".into(), "loaded".into()), ("b".into(), "loaded".into())]);
}

#[tokio::test]
async fn eight_first_requests_all_get_the_error_of_the_load() {
    let (many, _a, mut b) = two(fleet_config(), supervise::Config::default()).await;
    let all: Vec<_> = (0..8).map(|_| asked(&many, chat("b", false))).collect();
    b.started().await;
    b.say(&ToDaemon::Hello { protocol: PROTOCOL, runtime: "mock".into(), version: "0".into() });
    while !matches!(b.hear().await, ToWorker::Load(_)) {}
    b.say(&ToDaemon::LoadFailed(Refusal::new("bad_model", "/srv/models/b.gguf is torn")));
    for one in all {
        let answer = one.await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (503, "model_unavailable"));
        assert!(answer.body.contains("b.gguf is torn") && !answer.body.contains("/srv"), "{}", answer.body);
        assert!(answer.head.contains("retry-after"), "{}", answer.head);
    }
    // The other one is none the worse for it, and nobody asked for this one at the start.
    assert_eq!(get(many.address, "/ready").await.status, 200);
    assert_eq!(states(&many).await[1].1, "failed");
}

#[tokio::test]
async fn a_crash_of_one_is_invisible_to_the_clients_of_another() {
    let (many, mut a, mut b) = two(fleet_config(), supervise::Config::default()).await;
    let mut client = Client::open(many.address).await;
    client.send(chat("a", true)).await;
    let job = a.job().await;
    a.text(job.id, "Hel");
    client.until("Hel").await;
    let other = asked(&many, chat("b", false));
    come_up(&mut b).await;
    b.job().await;
    b.say_bytes(b"ggml_abort\n");
    a.text(job.id, "lo");
    a.finish(job.id);
    let text = client.read_to_end().await;
    assert!(text.contains("\"lo\"") && text.contains("[DONE]") && !text.contains("error"), "{text}");
    come_up(&mut b).await;
    answer(&mut b, "back").await;
    assert!(other.await.unwrap().body.contains("back"));
    let health = get(many.address, "/health").await.json();
    assert_eq!((&health["models"][0]["restarts"], &health["models"][1]["restarts"]), (&0.into(), &1.into()));
}

#[tokio::test]
async fn an_unknown_model_is_a_404_that_lists_what_there_is() {
    let (many, _a, _b) = two(fleet_config(), supervise::Config::default()).await;
    let asks = [
        chat("c", false),
        named("/v1/models/load", "c"),
        named("/v1/models/unload", "c"),
        "GET /v1/models/c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".into(),
    ];
    for request in asks {
        let answer = ask(many.address, request).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "model_not_found"));
        assert!(answer.body.contains("'a', 'b'"), "{}", answer.body);
    }
}

#[tokio::test]
async fn unloading_waits_for_the_running_request_and_loading_loads() {
    let supervise = supervise::Config { exit_grace: Duration::from_millis(300), ..Default::default() };
    let (many, _a, mut b) = two(fleet_config(), supervise).await;
    let loading = asked(&many, named("/v1/models/load", "b"));
    come_up(&mut b).await;
    let card = loading.await.unwrap();
    assert_eq!((card.status, &card.json()["state"]), (200, &"loaded".into()));
    let running = asked(&many, chat("b", false));
    let job = b.job().await;
    let unloading = asked(&many, named("/v1/models/unload", "b"));
    state_of_b(&many, "unloading").await;
    assert!(!unloading.is_finished());
    b.text(job.id, "whole");
    b.finish(job.id);
    assert!(running.await.unwrap().body.contains("whole"));
    while !matches!(b.hear().await, ToWorker::Drain) {}
    // This worker only carries bytes; the daemon ends it after a grace.
    let card = unloading.await.unwrap();
    assert_eq!((card.status, &card.json()["state"]), (200, &"unloaded".into()));
    assert!(card.json()["capabilities"].is_object(), "what it can do is still known");
}

#[tokio::test]
async fn loading_is_behind_the_key_and_takes_a_model_and_nothing_else() {
    let http = http::Config {
        access: Access { loopback: true, api_key: Some("s3cret".into()), ..Access::default() },
        ..http::Config::default()
    };
    let fake = Fake::new();
    let models = vec![("a", false, fake.program())];
    let many = serve(fleet_config(), supervise::Config::default(), http, models).await;
    for path in ["/v1/models/load", "/v1/models/unload"] {
        assert_eq!(ask(many.address, named(path, "a")).await.status, 401, "{path}");
    }
    assert_eq!(get(many.address, "/v1/models").await.status, 401);
    assert_eq!(get(many.address, "/ready").await.status, 200);
    let body = r#"{"model":"a","force":true}"#;
    let keyed = post("/v1/models/unload", body).replacen("\r\n", "\r\nAuthorization: Bearer s3cret\r\n", 1);
    let answer = ask(many.address, keyed).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "unsupported_parameter"));
}

#[tokio::test]
async fn a_spent_budget_is_a_503_with_the_reason_until_the_model_is_loaded_again() {
    let config = supervise::Config {
        crashes_max: 1,
        backoff_first: Duration::from_millis(1),
        ..supervise::Config::default()
    };
    let (many, mut a, _b) = two(fleet_config(), config).await;
    a.say_bytes(b"ggml_abort: once\n");
    come_up(&mut a).await;
    a.say_bytes(b"ggml_abort: twice\n");
    while get(many.address, "/ready").await.status != 503 {}
    let refused = ask(many.address, chat("a", false)).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "model_failed"));
    assert!(
        refused.body.contains("ggml_abort") && refused.body.contains("/v1/models/load"),
        "{}",
        refused.body
    );
    let health = get(many.address, "/health").await;
    assert_eq!((health.status, &health.json()["status"]), (503, &"failed".into()));
    let loading = asked(&many, named("/v1/models/load", "a"));
    come_up(&mut a).await;
    assert_eq!(loading.await.unwrap().status, 200);
    let answered = asked(&many, chat("a", false));
    answer(&mut a, "again").await;
    assert!(answered.await.unwrap().body.contains("again"));
    assert_eq!(get(many.address, "/ready").await.status, 200);
}

#[tokio::test]
async fn an_idle_model_leaves_and_comes_back_for_its_next_request() {
    let config = machine::Config { idle: Some(Duration::from_millis(50)), ..fleet_config() };
    let supervise = supervise::Config { exit_grace: Duration::from_millis(10), ..Default::default() };
    let mut a = Fake::new();
    let models = vec![("a", true, a.program())];
    let many = serve(config, supervise, http::Config::default(), models).await;
    come_up(&mut a).await;
    while states(&many).await[0].1 != "unloaded" {}
    assert_eq!(get(many.address, "/ready").await.status, 200);
    assert_eq!(get(many.address, "/health").await.status, 200);
    let asked = asked(&many, chat("a", false));
    come_up(&mut a).await;
    answer(&mut a, "here").await;
    assert!(asked.await.unwrap().body.contains("here"));
}

#[tokio::test]
async fn a_client_that_goes_away_while_its_model_loads_is_forgotten() {
    let (many, _a, mut b) = two(fleet_config(), supervise::Config::default()).await;
    let mut client = Client::open(many.address).await;
    client.send(chat("b", false)).await;
    b.started().await;
    assert_eq!(many.fleet.overview().models[1].waiting, 1);
    drop(client);
    while many.fleet.overview().models[1].waiting != 0 {
        tokio::task::yield_now().await;
    }
    b.say(&ToDaemon::Hello { protocol: PROTOCOL, runtime: "mock".into(), version: "0".into() });
    while !matches!(b.hear().await, ToWorker::Load(_)) {}
    b.say(&ToDaemon::Loaded(loaded()));
    state_of_b(&many, "loaded").await;
}

#[tokio::test]
async fn case_t04_every_id_of_the_list_can_be_retrieved() {
    let ids = ["Smol LM é", "org/model:Q4_K_M", "100%", "%41", "load", "a?b#c", "a+b", "..", "x/"];
    let never = || shell("exit 1", &[]);
    let models = ids.map(|id| (id, false, never())).into();
    let many = serve(fleet_config(), Default::default(), http::Config::default(), models).await;
    let list = get(many.address, "/v1/models").await.json();
    let listed: Vec<_> = list["data"].as_array().unwrap().iter().map(|card| card["id"].clone()).collect();
    assert_eq!(listed, ids);
    for id in ids {
        let escaped: String = id.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = get(many.address, &format!("/v1/models/{escaped}")).await;
        assert_eq!((answer.status, &answer.json()["id"]), (200, &id.into()), "{escaped}");
    }
    // A slash may stand as it is.
    assert_eq!(get(many.address, "/v1/models/org/model:Q4_K_M").await.status, 200);
}
