//! What stops a start, and how a daemon ends.

use super::{FRANCE, assert_plain, content, done, home, home_with_llama, serve, with};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use superfluid_tests::daemon::{Setup, free_port};
use superfluid_tests::{http, things};

/// Whether a process is there and not just a name.
fn alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn a_port_in_use_is_said_with_what_to_do() {
    let Some(model) = things::need(things::small_model()) else { return };
    let Some(home) = home_with_llama() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let ended = Setup::new(&model, home.path()).spawn(port).wait_soon();
    assert!(ended.status.is_some_and(|status| !status.success()), "{}", ended.stderr);
    assert_plain(&ended.stderr);
    assert!(ended.stderr.contains("in use") && ended.stderr.contains(&port.to_string()), "{}", ended.stderr);
    assert!(ended.stderr.contains("--port"), "{}", ended.stderr);
}

#[test]
fn a_worker_that_dies_at_its_start_is_said_with_how_it_ended() {
    let Some(model) = things::need(things::small_model()) else { return };
    let home = home();
    let setup = Setup::new(&model, home.path()).variable("SUPERFLUID_WORKER_LLAMACPP", "/bin/false");
    let ended = setup.spawn(free_port()).wait_soon();
    assert!(ended.status.is_some_and(|status| !status.success()), "{}", ended.stderr);
    for part in ["worker:  false (named by its environment variable)", "exit code 1"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn without_a_runtime_and_offline_the_one_command_is_named() {
    let Some(model) = things::need(things::small_model()) else { return };
    let home = home();
    let ended = Setup::new(&model, home.path()).arguments(&["--offline"]).spawn(free_port()).wait_soon();
    assert!(ended.status.is_some_and(|status| !status.success()), "{}", ended.stderr);
    assert_plain(&ended.stderr);
    assert!(ended.stderr.contains("superfluid runtime install llamacpp"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(home.path()).expect("there").count(), 0, "something is left behind");
}

/// A stream in progress is finished, then everything ends.
#[test]
fn a_daemon_asked_to_stop_finishes_what_it_answers_and_its_worker_ends_too() {
    let Some(served) = serve(&[]) else { return };
    let workers = served.daemon.workers();
    assert_eq!(workers.len(), 1, "one worker a model");
    let body = with(&served.question(FRANCE), json!({"stream": true, "max_tokens": 60, "ignore_eos": true}));
    let mut events =
        http::post_stream(served.daemon.address(), "/v1/chat/completions", &body).expect("a stream");
    events.next_json().expect("an event");
    served.daemon.terminate();
    let rest = events.collect().expect("a whole stream");
    let finish = rest.iter().filter_map(|event| event["choices"][0]["finish_reason"].as_str());
    assert_eq!(finish.collect::<Vec<_>>(), ["length"]);
    let ended = served.daemon.wait_soon();
    assert!(ended.status.is_some_and(|status| status.success()), "{:?}\n{}", ended.status, ended.stderr);
    assert!(!alive(workers[0]), "the worker is still there");
}

#[test]
fn a_worker_ends_with_a_daemon_that_was_killed() {
    let Some(served) = serve(&[]) else { return };
    let workers = served.daemon.workers();
    assert!(workers.len() == 1 && alive(workers[0]), "{workers:?}");
    drop(served);
    // One that outlives its daemon is found by the run's own limit.
    while alive(workers[0]) {
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The daemon's own memory while eight streams run; the worker holds the model.
#[test]
fn a_serving_daemon_stays_under_40_mb() {
    let Some(served) = serve(&[]) else { return };
    let body = with(&served.question("Count."), json!({"max_tokens": 40, "ignore_eos": true}));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| served.stream(&body));
        }
    });
    let status = fs::read_to_string(format!("/proc/{}/status", served.daemon.id())).expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kilobytes < 40_000, "{kilobytes} kB at its peak");
}

#[test]
fn the_decision_for_a_model_is_shown_without_serving_it() {
    let Some(model) = things::need(things::small_model()) else { return };
    let Some(home) = home_with_llama() else { return };
    let shown = done(
        &superfluid_tests::daemon::command(home.path()).arg("runtimes").arg(&model).output().expect("runs"),
    );
    assert!(shown.contains("llamacpp"), "{shown}");
    let name = Path::new(&model).file_name().expect("a name").to_string_lossy().into_owned();
    assert!(shown.contains(&name), "{shown}");
}

/// The installs of llama.cpp that a process has libraries of.
#[cfg(target_os = "linux")]
fn installs(id: u32) -> BTreeSet<String> {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).expect("it lives");
    let of = |line: &str| Some(line.split_once("runtimes/llamacpp/")?.1.split_once('/')?.0.to_string());
    maps.lines().filter_map(of).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn row_c5_a_running_daemon_keeps_the_install_it_started_with() {
    let Some(served) = serve(&[]) else { return };
    let archive = things::need(things::llama_archive()).expect("it was installed");
    let mut install = superfluid_tests::daemon::command(served.home());
    install.args(["runtime", "install", "llamacpp", "--untested", "--version", "b99999"]);
    done(&install.arg("--from").arg(archive).output().expect("runs"));
    let current = fs::read_link(served.home().join("runtimes/llamacpp/current")).expect("a default");
    assert!(current.to_string_lossy().starts_with("b99999-"), "{current:?}");

    let workers = served.daemon.workers();
    let [worker] = workers[..] else { panic!("{workers:?}") };
    let own = installs(worker);
    assert!(own.len() == 1 && !own.contains(&*current.to_string_lossy()), "{own:?}");
    let pid = Pid::from_raw(i32::try_from(worker).expect("an id")).expect("an id");
    kill_process(pid, Signal::KILL).expect("it lives");
    let answer = served.chat(&served.question(FRANCE));
    assert!(content(&answer).contains("Paris"), "{answer}");
    let successors = served.daemon.workers();
    let [successor] = successors[..] else { panic!("{successors:?}") };
    assert_ne!(successor, worker);
    assert_eq!(installs(successor), own, "its worker's successor is of the same install");
}
