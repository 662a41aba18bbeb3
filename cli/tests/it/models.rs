//! `superfluid serve` with several models.

use crate::daemon::{Daemon, Gate, lives, rest, serve, until};
use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// Four hundred tokens, 5 ms each, where the prompt says so.
fn script(name: &str, faults: &str) -> String {
    let reply = vec!["\"ab \""; 400].join(",");
    format!(
        r#"{{"mock":1,"decode_us":5000,"replies":[{{"prompt":"slow","reply":[{reply}]}},{{"prompt":"","reply":["I am {name}"]}}],"faults":[{faults}]}}"#
    )
}

fn command(temp: &Path, files: &[(&str, String)]) -> Command {
    for (file, script) in files {
        let path = temp.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, script).unwrap();
    }
    let mut command = serve(temp);
    command.args(["--port", "0"]).current_dir(temp);
    command
}

/// A daemon that listens.
fn start(files: &[(&str, String)], args: &[&str]) -> Daemon {
    let temp = tempfile::tempdir().unwrap();
    let mut command = command(temp.path(), files);
    command.args(args);
    Daemon::listening(temp, command)
}

fn two() -> Daemon {
    let files = [("a.gguf", script("a", "")), ("b.gguf", script("b", ""))];
    let mut daemon = start(&files, &["--runtime", "mock", "a.gguf", "--model", "b.gguf"]);
    daemon.line("ready: ");
    daemon.line("ready: ");
    daemon
}

fn ask(daemon: &Daemon, model: &str, prompt: &str, stream: bool) -> BufReader<TcpStream> {
    daemon.post(&format!(
        r#"{{"model":"{model}","stream":{stream},"temperature":0,"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
    ))
}

fn get(daemon: &Daemon, path: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", daemon.port)).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    rest(&mut BufReader::new(socket))
}

/// `id state runtime` of each model.
fn models(daemon: &Daemon) -> Vec<String> {
    let text = get(daemon, "/v1/models");
    let list: serde_json::Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    let one = |one: &serde_json::Value| {
        let runtime = one["capabilities"]["runtime"]["id"].as_str().unwrap_or("-");
        format!("{} {} {runtime}", one["id"].as_str().unwrap(), one["state"].as_str().unwrap())
    };
    list["data"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn each_model_answers_for_itself_and_an_unknown_one_is_told_what_there_is() {
    let daemon = two();
    assert!(rest(&mut ask(&daemon, "a", "hi", false)).contains("I am a"));
    assert!(rest(&mut ask(&daemon, "b", "hi", true)).contains("I am b"));
    let unknown = rest(&mut ask(&daemon, "c", "hi", false));
    assert!(unknown.starts_with("HTTP/1.1 404") && unknown.contains("'a', 'b'"), "{unknown}");
    assert_eq!(models(&daemon), ["a loaded mock", "b loaded mock"]);
    assert!(get(&daemon, "/ready").starts_with("HTTP/1.1 200"));
}

#[cfg(target_os = "linux")]
#[test]
fn case_f07_a_crash_of_one_model_leaves_the_other_s_stream_alone() {
    let crash = r#"{"at":"token","do":"abort","prompt":"crash","once":"crashed"}"#;
    let files = [("a.gguf", script("a", crash)), ("b.gguf", script("b", ""))];
    // The fault leaves a file behind.
    let mut daemon = start(&files, &["--runtime", "mock", "--no-sandbox", "a.gguf", "--model", "b.gguf"]);
    daemon.line("ready: ");
    daemon.line("ready: ");
    let mut stream = ask(&daemon, "b", "slow", true);
    until(&mut stream, "ab");
    assert!(rest(&mut ask(&daemon, "a", "crash", false)).contains("HTTP/1.1 200"));
    daemon.line("a: the worker is back");
    assert!(get(&daemon, "/v1/models").starts_with("HTTP/1.1 200"));
    let text = rest(&mut stream);
    assert!(text.contains("[DONE]") && !text.contains("\"error\""), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn case_f01_a_killed_daemon_with_two_busy_models_leaves_no_worker() {
    let mut daemon = two();
    let mut streams = ["a", "b"].map(|model| ask(&daemon, model, "slow", true));
    streams.iter_mut().for_each(|stream| until(stream, "ab"));
    let workers = daemon.workers();
    assert_eq!(workers.len(), 2);
    daemon.signal("-KILL");
    daemon.child.wait().unwrap();
    // One that outlives its daemon is found by the run's own limit.
    while workers.iter().any(|worker| lives(*worker)) {}
}

#[test]
fn sigterm_finishes_what_every_model_runs() {
    let gate = Gate::new();
    let files = [("a.gguf", script("a", &gate.fault())), ("b.gguf", script("b", &gate.fault()))];
    let args = [&["--runtime", "mock", "a.gguf", "--model", "b.gguf"][..], &gate.flags()].concat();
    let mut daemon = start(&files, &args);
    daemon.line("ready: ");
    daemon.line("ready: ");
    let mut streams = ["a", "b"].map(|model| ask(&daemon, model, "slow", true));
    streams.iter_mut().for_each(|stream| until(stream, "ab"));
    daemon.signal("-TERM");
    daemon.line("SIGTERM: stopping, waiting up to 30 s for 2 requests;");
    gate.open();
    for stream in &mut streams {
        assert!(rest(stream).contains("data: [DONE]"));
    }
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_directory_s_models_are_loaded_on_first_use() {
    let files = [
        ("models/x.gguf", script("x", "")),
        ("models/y.gguf", script("y", "")),
        ("models/y-00002-of-00002.gguf", script("no model", "")),
        ("models/.hidden", script("no model", "")),
    ];
    let mut daemon = start(&files, &["--runtime", "mock", "--model-dir", "models"]);
    assert_eq!(models(&daemon), ["x unloaded -", "y unloaded -"]);
    assert!(get(&daemon, "/ready").starts_with("HTTP/1.1 200"));
    let mut first: Vec<_> = (0..8).map(|_| ask(&daemon, "y", "hi", false)).collect();
    for one in &mut first {
        assert!(rest(one).contains("I am y"));
    }
    assert_eq!(models(&daemon), ["x unloaded -", "y loaded mock"]);
    daemon.line("ready: y");
    daemon.signal("-TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_looks_like_a_model_and_is_left_out_of_a_directory_is_told_with_the_reason() {
    let files = [
        ("models/none.gguf", String::new()),
        ("models/half.gguf.part", "GG".into()),
        ("models/late-00002-of-00002.gguf", "GGUF".into()),
        ("models/page.gguf", "<!DOCTYPE html>".into()),
        ("models/readme.txt", "not a model".into()),
        ("models/empty.txt", String::new()),
    ];
    for format in ["text", "json"] {
        let mut daemon = start(&files, &["--model-dir", "models", "--log-format", format]);
        let said = std::mem::take(&mut daemon.said);
        for line in [
            "warning: none.gguf is left out: it is an empty file",
            "warning: half.gguf.part is left out: it is a file of 2 bytes",
            "warning: late-00002-of-00002.gguf is left out: its first part, late-00001-of-00002.gguf, is not there",
            "warning: page.gguf is left out: it is an HTML page",
        ] {
            assert!(said.contains(line), "{line} is not in {said}");
        }
        assert!(!said.contains("readme") && !said.contains("empty.txt"), "{said}");
        if format == "json" {
            said.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).expect(line)));
        }
    }
}

#[test]
fn row_f1_each_model_may_have_a_runtime_of_its_own() {
    let files = [("a.gguf", script("a", "")), ("models/b.gguf", script("b", ""))];
    // The file is no GGUF: llamacpp, which is for all others, would refuse both.
    let args = [
        "--runtime",
        "a=mock",
        "--runtime",
        "llamacpp",
        "--runtime",
        "b=mock",
        "a.gguf",
        "--model-dir",
        "models",
    ];
    let daemon = start(&files, &args);
    assert!(rest(&mut ask(&daemon, "b", "hi", false)).contains("I am b"));
    assert_eq!(models(&daemon)[1], "b loaded mock");
}

#[test]
fn one_model_that_can_t_be_loaded_leaves_the_others() {
    let broken = r#"{"at":"load","do":"exit","code":3}"#;
    let files = [("a.gguf", script("a", "")), ("b.gguf", script("b", broken))];
    let mut daemon = start(&files, &["--runtime", "mock", "a.gguf", "--model", "b.gguf"]);
    daemon.line("error: b: the mock worker ended while loading the model: exit code 3");
    while !rest(&mut ask(&daemon, "a", "hi", false)).contains("I am a") {}
    let refused = rest(&mut ask(&daemon, "b", "hi", false));
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("exit code 3"), "{refused}");
    assert!(get(&daemon, "/ready").starts_with("HTTP/1.1 503"));
}

/// Each holds a key that no script has: it looks like a model and can't be loaded.
#[test]
fn bad_models_of_a_directory_never_end_the_daemon_and_one_that_heals_is_served() {
    for names in [&["a"][..], &["a", "b"]] {
        let bad = |name: &&str| (format!("models/{name}.gguf"), r#"{"mock":1,"nosuch":2}"#.to_string());
        let files: Vec<(String, String)> = names.iter().map(bad).collect();
        let files: Vec<(&str, String)> = files.iter().map(|(file, text)| (&**file, text.clone())).collect();
        let daemon = start(&files, &["--runtime", "mock", "--model-dir", "models"]);
        for name in names {
            let refused = rest(&mut ask(&daemon, name, "hi", false));
            assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("nosuch"), "{refused}");
        }
        assert!(models(&daemon).iter().all(|model| model.ends_with(" failed -")), "it is there and says so");
        fs::write(daemon._temp.path().join("models/a.gguf"), script("a", "")).unwrap();
        let loaded = rest(&mut daemon.post_to("/v1/models/load", r#"{"model":"a"}"#));
        assert!(loaded.starts_with("HTTP/1.1 200"), "{loaded}");
        assert!(rest(&mut ask(&daemon, "a", "hi", false)).contains("I am a"));
    }
}

#[test]
fn when_no_named_model_can_be_loaded_the_log_says_which_before_the_end() {
    let bad = r#"{"mock":1,"nosuch":2}"#.to_string();
    let files = [("a.gguf", bad.clone()), ("b.gguf", bad)];
    let mut daemon = start(&files, &["--runtime", "mock", "a.gguf", "--model", "b.gguf"]);
    daemon.line("nothing can be served, so this ends: 'a' and 'b' could not be loaded");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
}

#[test]
fn two_models_of_one_name_are_refused_before_anything_starts() {
    let temp = tempfile::tempdir().unwrap();
    let files = [("a.gguf", script("a", "")), ("other/a.gguf", script("b", ""))];
    let output = command(temp.path(), &files)
        .args(["--runtime", "mock", "a.gguf", "--model", "other/a.gguf"])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(log.contains("would both be called 'a'") && log.contains("--model-id"), "{log}");
}
