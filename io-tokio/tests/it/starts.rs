//! Workers that do not come up.

use crate::client::{ask, get, post};
use crate::fake::{Fake, shell};
use crate::rig::{CHAT, fleet_config, model, serve};
use std::pin::Pin;
use std::sync::Arc;
use superfluid_core::supervise::{Config, Death};
use superfluid_core::wire::{LoadSpec, ToDaemon};
use superfluid_io_tokio::fleet::{self, Launch};
use superfluid_io_tokio::http::{self, Server};
use superfluid_io_tokio::worker::{Notice, Program};

async fn death_of(program: Program, config: Config) -> Death {
    let mut rig = serve(program, Default::default(), config).await;
    loop {
        match rig.notice().await.expect("it ended in silence") {
            Notice::Down { death, restart_in: None } => return death,
            Notice::Down { .. } => panic!("a first start is not repeated"),
            _ => {}
        }
    }
}

async fn death(script: &str) -> Death {
    death_of(shell(script, &[]), Config::default()).await
}

#[tokio::test]
async fn case_f09_exits_and_signals_come_with_the_last_lines() {
    let death = death("echo 'libfoo.so.1: cannot open shared object file' >&2; exit 127").await;
    assert!(death.refusal.message.contains("exit code 127"), "{death:?}");
    assert_eq!(death.stderr, ["libfoo.so.1: cannot open shared object file"]);
}

#[tokio::test]
async fn case_f09_a_signal_is_named() {
    let death = death("kill -ILL $$").await;
    assert!(death.refusal.message.contains("SIGILL"), "{death:?}");
}

#[tokio::test]
async fn case_f09_an_exit_that_means_success_is_none() {
    let death = death("exit 0").await;
    assert!(death.refusal.message.contains("before it was up"), "{death:?}");
}

#[tokio::test]
async fn case_f09_a_program_that_cannot_start_says_which() {
    let program = Program { path: "/no/such/worker".into(), args: vec![], env: vec![] };
    let death = death_of(program, Config::default()).await;
    assert!(death.refusal.message.contains("/no/such/worker"), "{death:?}");
}

#[tokio::test]
async fn case_f09_another_protocol_is_told() {
    let mut fake = Fake::new();
    let program = fake.program();
    let dying = tokio::spawn(death_of(program, Config::default()));
    fake.started().await;
    fake.say(&ToDaemon::Hello { protocol: 0, runtime: "mock".into(), version: "0.0.1".into() });
    let death = dying.await.unwrap();
    assert!(death.refusal.message.contains("protocol 0"), "{death:?}");
    assert_eq!(death.refusal.hints, ["run: superfluid runtime repair mock"]);
}

#[tokio::test]
async fn a_worker_that_says_nothing_is_given_up() {
    let config = Config { handshake: std::time::Duration::from_millis(100), ..Config::default() };
    let death = death_of(shell("exec sleep 1000", &[]), config).await;
    assert!(death.refusal.message.contains("said nothing"), "{death:?}");
}

#[tokio::test]
async fn a_worker_that_closes_its_output_and_stays_is_given_up() {
    let death = death("exec 1>&-; exec sleep 1000").await;
    assert!(death.refusal.message.contains("closed its output"), "{death:?}");
}

#[tokio::test]
async fn case_f03_any_amount_on_stderr_is_drained_and_bounded() {
    let script = "head -c 1048576 /dev/zero >&2; i=0; while [ $i -lt 3000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 3";
    let death = death(script).await;
    assert_eq!(death.stderr.len(), 20);
    assert_eq!(death.stderr.last().map(String::as_str), Some("line 2999"));
}

#[tokio::test]
async fn case_f03_one_line_of_ten_mebibytes_is_cut() {
    let death = death("head -c 10485760 /dev/zero | tr '\\0' x >&2; exit 3").await;
    assert_eq!(death.stderr.len(), 1);
    assert!(death.stderr[0].len() < 4096 && death.stderr[0].ends_with('…'));
}

#[tokio::test]
async fn health_is_503_with_the_reason_while_loading() {
    let mut fake = Fake::new();
    let rig = serve(fake.program(), Default::default(), Config::default()).await;
    fake.started().await;
    assert_eq!(get(rig.address, "/health").await.status, 503);
    fake.say(&ToDaemon::Hello {
        protocol: superfluid_core::wire::PROTOCOL,
        runtime: "mock".into(),
        version: "0".into(),
    });
    fake.say(&ToDaemon::Progress { permille: 420 });
    let health = loop {
        let health = get(rig.address, "/health").await;
        assert_eq!(health.status, 503);
        if health.json()["progress"] == 0.42 {
            break health.json();
        }
    };
    assert_eq!((&health["status"], &health["reason"]), (&"loading".into(), &"the model is loading".into()));
    assert_eq!(get(rig.address, "/v1/models").await.json()["data"][0]["id"], "tiny");
}

#[tokio::test]
async fn while_its_runtime_is_installed_requests_are_answered_and_told_to_wait() {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap();
    let installed = Arc::new(tokio::sync::Notify::new());
    let install = Arc::clone(&installed);
    let prepare = move |_| {
        let install = Arc::clone(&install);
        Box::pin(async move {
            install.notified().await;
            Ok(Launch { program: shell("exit 3", &[]), spec: LoadSpec::default() })
        }) as Pin<Box<dyn Future<Output = _> + Send>>
    };
    let models = vec![model("tiny", true)];
    let (fleet, mut notices) = fleet::start(fleet_config(), Config::default(), models, Box::new(prepare));
    let (_close, closed) = tokio::sync::watch::channel(false);
    tokio::spawn(server.run(http::Config::default(), fleet, closed));
    let health = get(address, "/health").await;
    assert_eq!((health.status, health.json()["status"].as_str()), (503, Some("installing")));
    assert_eq!(get(address, "/ready").await.status, 503);
    let chat = ask(address, post("/v1/chat/completions", CHAT)).await;
    assert_eq!((chat.status, chat.code().as_str()), (503, "model_loading"));
    assert!(chat.head.contains("retry-after"), "{}", chat.head);
    assert_eq!(get(address, "/v1/models").await.json()["data"][0]["id"], "tiny");
    installed.notify_one();
    let notice = notices.recv().await;
    assert!(
        matches!(&notice, Some(fleet::Notice::Worker { notice: Notice::Down { restart_in: None, .. }, .. })),
        "{notice:?}"
    );
    while get(address, "/health").await.json()["status"] != "failed" {}
}
