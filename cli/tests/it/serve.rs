//! `superfluid serve` with the built-in mock.

use crate::daemon::{Daemon, Gate, command, kill, lives, rest, until};
use std::fs;
use std::io::BufReader;
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// Four hundred tokens, 5 ms each: long enough to meet it in the middle, short enough to wait for.
fn slow(faults: &str) -> String {
    let reply = vec!["\"ab \""; 400].join(",");
    format!(
        r#"{{"mock":1,"decode_us":5000,"replies":[{{"prompt":"slow","reply":[{reply}]}},{{"prompt":"","reply":["quick"]}}],"faults":[{faults}]}}"#
    )
}

/// The head of a GGUF file with one tensor: all that is looked at before an install.
pub(crate) fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let architecture = [&text("general.architecture")[..], &8_u32.to_le_bytes(), &text("llama")].concat();
    let tensor = [&text("t")[..], &1_u32.to_le_bytes(), &1_u64.to_le_bytes(), &[0; 12]].concat();
    let counts = [3_u32.to_le_bytes().as_slice(), &1_u64.to_le_bytes(), &1_u64.to_le_bytes()].concat();
    [b"GGUF", &counts[..], &architecture, &tensor, &[0; 64]].concat()
}

#[test]
fn an_answer_whole_and_streamed() {
    let daemon = Daemon::start(&slow(""));
    assert!(rest(&mut daemon.ask("hi", false)).contains("\"content\":\"quick\""));
    let text = rest(&mut daemon.ask("hi", true));
    assert!(text.contains("\"content\":\"quick\"") && text.contains("data: [DONE]"), "{text}");
}

#[test]
fn case_k08_a_client_that_goes_away_frees_its_lane() {
    let daemon = Daemon::start(&slow(""));
    for stream in [true, false] {
        let mut reply = daemon.ask("slow", stream);
        if stream {
            until(&mut reply, "ab");
        }
        drop(reply);
        while daemon.health()["requests"] != 0 {}
    }
}

#[cfg(target_os = "linux")]
#[test]
fn case_f02_a_worker_killed_mid_stream_is_followed_by_one_that_goes_on() {
    let daemon = Daemon::start(&slow(""));
    let mut reply = daemon.ask("slow", true);
    until(&mut reply, "ab");
    kill("-KILL", daemon.worker());
    let text = rest(&mut reply);
    assert!(!text.contains("\"error\"") && text.contains("[DONE]"), "{text}");
    assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    assert_eq!(daemon.health()["restarts"], 1);
}

/// Nobody reads the daemon's log, and the pipe is full long before this is over.
#[test]
fn case_f03_a_log_that_nobody_reads_stops_nothing() {
    let mut daemon = Daemon::start(&slow(""));
    for _ in 0..1500 {
        assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    }
    assert_eq!(daemon.health()["requests"], 0);
    daemon.signal("-TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn case_f04_what_kills_the_worker_each_time_is_failed_and_others_are_served() {
    let daemon = Daemon::start(&slow(r#"{"at":"prefill","do":"abort","nth":0,"prompt":"poison"}"#));
    for _ in 0..3 {
        assert!(rest(&mut daemon.ask("poison", false)).contains("worker_failed"));
        assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn case_f01_the_worker_dies_with_a_daemon_that_is_killed() {
    let mut daemon = Daemon::start(&slow(""));
    let mut reply = daemon.ask("slow", true);
    until(&mut reply, "ab");
    let worker = daemon.worker();
    daemon.signal("-KILL");
    daemon.child.wait().unwrap();
    // One that outlives its daemon is found by the run's own limit.
    while lives(worker) {}
}

/// Long before it would be ended.
#[cfg(target_os = "linux")]
#[test]
fn health_tells_of_an_idle_worker_that_does_not_answer_and_of_its_return() {
    let daemon = Daemon::start_with(&slow(""), &["--hang-timeout", "3600"]);
    kill("-STOP", daemon.worker());
    while daemon.health()["status"] != "silent" {}
    kill("-CONT", daemon.worker());
    while daemon.health()["status"] != "ready" {}
    assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    assert_eq!(daemon.health()["restarts"], 0);
}

#[cfg(target_os = "linux")]
#[test]
fn row_b9_the_worker_sees_no_credentials_and_inherits_no_files() {
    let daemon = Daemon::start(&slow(""));
    let worker = daemon.worker();
    let environment = fs::read(format!("/proc/{worker}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("MONKEY=kept") && !environment.contains("HF_TOKEN"));
    let sockets = fs::read_dir(format!("/proc/{worker}/fd"))
        .unwrap()
        .filter_map(|fd| fs::read_link(fd.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"));
    assert_eq!(sockets.count(), 0, "the port stays the daemon's");
}

#[test]
fn sigterm_finishes_what_runs_refuses_what_comes_and_exits_0() {
    let gate = Gate::new();
    let mut daemon = Daemon::start_with(&slow(&gate.fault()), &gate.flags());
    let mut reply = daemon.ask("slow", true);
    until(&mut reply, "ab");
    daemon.signal("-TERM");
    daemon.line("SIGTERM: stopping, waiting up to 30 s for 1 request;");
    while daemon.health()["status"] != "draining" {}
    let refused = rest(&mut daemon.ask("hi", false));
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("shutting_down"), "{refused}");
    gate.open();
    assert!(rest(&mut reply).contains("data: [DONE]"));
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_drain_that_is_over_before_its_requests_exits_1_and_says_so() {
    let gate = Gate::new();
    let flags = [&gate.flags()[..], &["--drain", "0"]].concat();
    let mut daemon = Daemon::start_with(&slow(&gate.fault()), &flags);
    let mut reply = daemon.ask("slow", true);
    until(&mut reply, "ab");
    daemon.signal("-HUP");
    daemon.line("SIGHUP: stopping, waiting up to 0 s for 1 request;");
    daemon.line("stopped before 1 request had finished");
    assert!(rest(&mut reply).contains("shutting_down"));
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_signal_to_a_daemon_with_nothing_to_do_is_named_and_exits_0() {
    let mut daemon = Daemon::start_with(&slow(""), &["--drain", "0"]);
    daemon.signal("-TERM");
    assert_eq!(daemon.line("SIGTERM: stopping"), "SIGTERM: stopping\n");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_daemon_that_was_started_to_ignore_signals_ignores_them() {
    let temp = tempfile::tempdir().unwrap();
    let model = temp.path().join("tiny.gguf");
    fs::write(&model, slow("")).unwrap();
    let mut command = crate::interrupts::ignoring("HUP INT");
    command.args(["serve", "--port", "0", "--runtime", "mock"]).arg(&model);
    command.env("SUPERFLUID_HOME", temp.path().join("home")).stderr(Stdio::piped());
    let mut daemon = Daemon::listening(temp, command);
    daemon.line("ready: tiny");
    for signal in ["-HUP", "-INT", "-TERM"] {
        daemon.signal(signal);
    }
    // Only one came, so that nothing was cut.
    assert_eq!(daemon.line("SIG"), "SIGTERM: stopping\n");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_stops_now() {
    let gate = Gate::new();
    let mut daemon = Daemon::start_with(&slow(&gate.fault()), &gate.flags());
    let mut reply = daemon.ask("slow", true);
    until(&mut reply, "ab");
    daemon.signal("-INT");
    daemon.line("SIGINT: stopping, waiting up to 30 s for 1 request;");
    daemon.signal("-INT");
    daemon.line("SIGINT: stopping now");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
    assert!(rest(&mut reply).contains("shutting_down"));
}

/// A run that ends by itself: exit code and log.
fn ended(script: &str, args: &[&str]) -> (Option<i32>, String) {
    let temp = tempfile::tempdir().unwrap();
    let output = command(temp.path(), script, args).output().unwrap();
    assert!(!temp.path().join("home").exists(), "something was left behind");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_port_in_use_is_told_before_anything_is_loaded() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, log) = ended(&slow(""), &["--port", &port]);
    assert_eq!(code, Some(1));
    assert!(log.starts_with(&format!("error: port {port} of 127.0.0.1 is in use\n  hint: ")), "{log}");
}

#[test]
fn case_f09_a_worker_that_dies_while_loading_is_one_clear_message() {
    let (code, log) = ended(&slow(r#"{"at":"load","do":"exit","code":3}"#), &["--port", "0"]);
    assert_eq!(code, Some(1));
    assert_eq!(log.matches("error:").count(), 1, "{log}");
    assert!(log.contains("ended while loading the model: exit code 3"), "{log}");
}

#[test]
fn usage_errors_exit_with_2() {
    for args in [
        ["--port", "99999"],
        ["--max-batch", "0"],
        ["--api-key", ""],
        ["--runtime", "nope"],
        ["--kv-bits", "-1"],
        ["--speculate", ""],
        ["--class-lanes", "agent=0"],
    ] {
        let (code, log) = ended(&slow(""), &args);
        assert_eq!(code, Some(2), "{args:?}: {log}");
    }
}

#[test]
fn row_g2_flags_the_runtime_cannot_honour_are_refused_before_its_worker_starts() {
    // A worker that starts leaves the file.
    let temp = tempfile::tempdir().unwrap();
    let started = temp.path().join("started");
    let fault = format!(r#"{{"at":"load","do":"error","once":{started:?}}}"#);
    for (args, message) in [
        (&["--park-lossy", "--no-sandbox"][..], "the mock runtime exports no lossy encoding"),
        (
            &["--kv-bits", "8", "--no-sandbox"],
            "the mock runtime keeps its KV type per context and exposes no such knob",
        ),
        (&["--speculate", "medusa", "--no-sandbox"], "the mock runtime does not speculate"),
    ] {
        let (code, log) = ended(&slow(&fault), args);
        assert_eq!(code, Some(1), "{args:?}: {log}");
        assert!(log.starts_with(&format!("error: {message}\n  hint: ")), "{args:?}: {log}");
    }
    assert!(!started.exists());
}

#[test]
fn row_g2_speculate_auto_and_kv_bits_0_are_never_refused() {
    for args in [["--speculate", "auto"], ["--speculate", "off"], ["--kv-bits", "0"]] {
        let daemon = Daemon::start_with(&slow(""), &args);
        assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    }
}

#[test]
fn row_b8_while_an_install_on_first_use_runs_health_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let model = temp.path().join("tiny.gguf");
    fs::write(&model, gguf()).unwrap();
    // A proxy that takes the fetch's connection and keeps it waiting.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_superfluid"))
        .arg("serve")
        .arg(&model)
        .args(["--port", "0", "--runtime", "llamacpp"])
        .env("SUPERFLUID_HOME", temp.path().join("home"))
        .env("HTTPS_PROXY", format!("http://{}", proxy.local_addr().unwrap()))
        .env_remove("NO_PROXY")
        .env_remove("SUPERFLUID_API_KEY")
        .env_remove("SUPERFLUID_WORKER_LLAMACPP")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut daemon = Daemon { _temp: temp, child, log, port: 0, said: String::new() };
    let line = daemon.line("listening on http://127.0.0.1:");
    daemon.port = line.rsplit_once(':').unwrap().1.trim().parse().unwrap();
    let (fetch, _) = proxy.accept().unwrap();
    assert_eq!(daemon.health()["status"], "installing");
    drop((fetch, proxy));
    daemon.line("error: cannot fetch");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
}
