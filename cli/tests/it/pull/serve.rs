//! `superfluid serve <id>`.

use super::hub::{COMMIT, File, Hub, noise};
use crate::command::pack_worker;
use crate::leases::MUTE;
use crate::serve::gguf;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A hub with a model, and a home with a worker for it.
fn hub() -> Hub {
    let hub = Hub::new(&[File::large("tiny-Q4_K_M.gguf", &gguf()), File::large("tiny-Q8_0.gguf", &noise(9))]);
    pack_worker(hub.temp.path(), "a.tar.gz", "x", MUTE);
    let archive = hub.temp.path().join("a.tar.gz").display().to_string();
    let ran = hub.run(&["runtime", "install", "llamacpp", "--from", &archive, "--backend", "cpu"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    hub
}

/// What a daemon says until it has its worker, with paths as they are.
fn said(hub: &Hub, args: &[&str]) -> String {
    let args = [&["serve", "org/tiny-GGUF", "--port", "0", "--log-level", "debug"][..], args].concat();
    let mut child =
        hub.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a daemon");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let mut said = String::new();
    while !said.contains("worker: ") && log.read_line(&mut said).expect("it reads") > 0 {}
    // It serves until it is told otherwise.
    let _ = child.kill();
    child.wait().expect("it is gone");
    said
}

#[test]
fn a_model_is_pulled_on_first_use_and_found_without_asking_on_the_next() {
    let hub = hub();
    let first = said(&hub, &[]);
    let path = hub.repo().join("snapshots").join(COMMIT).join("tiny-Q4_K_M.gguf");
    assert!(first.contains(&format!("model:   {}", path.display())), "{first}");
    let asked = hub.requests();
    assert!(asked > 0);
    for args in [&[][..], &["--offline"]] {
        let next = said(&hub, args);
        assert!(next.contains(&path.display().to_string()), "{next}");
    }
    assert_eq!(hub.requests(), asked);
}

#[test]
fn row_b8_offline_pulls_nothing() {
    let hub = hub();
    let ran = hub.run(&["serve", "org/tiny-GGUF", "--port", "0", "--offline"]);
    assert_eq!((ran.code, hub.requests()), (Some(1), 0));
    assert!(ran.stderr.contains("is not in") && ran.stderr.contains("--offline"), "{}", ran.stderr);
}
