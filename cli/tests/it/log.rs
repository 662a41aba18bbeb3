//! What the daemon logs.

use crate::daemon::{Daemon, command, rest};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const SCRIPT: &str = r#"{"mock":1,"replies":[{"prompt":"","reply":["quick"]}]}"#;

fn start(args: &[&str]) -> Daemon {
    let temp = tempfile::tempdir().unwrap();
    let mut command = command(temp.path(), SCRIPT, &[&["--port", "0"], args].concat());
    command.env_remove("SUPERFLUID_LOG");
    let mut daemon = Daemon::listening(temp, command);
    daemon.line("ready: tiny");
    daemon
}

/// Asks one secret question, and ends the daemon; what it logged from then on.
fn logged(mut daemon: Daemon) -> String {
    let body = r#"{"model":"tiny","messages":[{"role":"user","content":"my secret"}]}"#;
    let mut socket = TcpStream::connect(("127.0.0.1", daemon.port)).unwrap();
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         X-Request-Id: mine-1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let reply = rest(&mut BufReader::new(socket));
    assert!(reply.contains("x-request-id: mine-1") && reply.contains("quick"), "{reply}");
    assert!(rest(&mut daemon.post("{")).contains("invalid_json"));
    daemon.signal("-TERM");
    let mut text = String::new();
    daemon.log.read_to_string(&mut text).unwrap();
    assert!(!text.contains("secret") && !text.contains("quick"), "{text}");
    text
}

#[test]
fn one_line_a_request_without_its_text() {
    let text = logged(start(&[]));
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("superfluid::access")).collect();
    let [first, second] = lines[..] else { panic!("{text}") };
    for part in ["mine-1", "tiny", "agent", "prompt=", "cached=0", "completion=", "ttft_ms=", "stop"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    assert!(second.contains("invalid_json") && second.contains("req-"), "{second}");
}

#[test]
fn json_is_one_object_a_line() {
    let temp = tempfile::tempdir().unwrap();
    let mut command = command(temp.path(), SCRIPT, &["--port", "0", "--log-format", "json"]);
    let mut child = command.env_remove("SUPERFLUID_LOG").spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "{lines:?}");
        let record: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let ready = record["message"].as_str().is_some_and(|text| text.starts_with("ready: tiny"));
        lines.push(record);
        if ready {
            break;
        }
    }
    assert!(lines.iter().all(|record| record["target"] == "superfluid::daemon"), "{lines:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_level_that_asks_for_less_gets_less_and_the_flag_wins() {
    let text = logged(start(&["--log-level", "error"]));
    assert!(!text.contains("superfluid::access"), "{text}");
    let temp = tempfile::tempdir().unwrap();
    let output = command(temp.path(), SCRIPT, &["--log-level", "superfluid=loud"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("is not understood"), "{text}");
}

#[test]
fn a_level_that_is_none_is_refused_and_not_taken_for_a_part_s_name() {
    let temp = tempfile::tempdir().unwrap();
    for level in ["wran", "info,bogus", "superfluid::acess=info", "superfluid::worker=loud", "info=warn"] {
        let args = ["--port", "0", "--check", "--log-level", level];
        let output = command(temp.path(), SCRIPT, &args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{level}: {text}");
        assert!(text.contains("error, warn, info, debug, trace or off"), "{text}");
    }
    for level in ["WARN", "off", "warn,superfluid::worker=debug", "superfluid=info,hyper=off"] {
        let args = ["--port", "0", "--check", "--log-level", level];
        let output = command(temp.path(), SCRIPT, &args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{level}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// All that is logged of a start, a request, a death and a load that fails.
fn life(args: &[&str]) -> String {
    let mut daemon = start(args);
    let folder = daemon._temp.path().to_path_buf();
    assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    std::fs::remove_file(folder.join("tiny.gguf")).unwrap();
    assert!(rest(&mut daemon.post_to("/v1/models/unload", r#"{"model":"tiny"}"#)).contains("unloaded"));
    assert!(rest(&mut daemon.ask("hi", false)).contains("model_unavailable"));
    daemon.signal("-TERM");
    let mut text = std::mem::take(&mut daemon.said);
    daemon.log.read_to_string(&mut text).unwrap();
    assert!(text.contains("tiny.gguf cannot be read"), "{text}");
    text
}

#[test]
fn the_log_names_files_without_their_folders_unless_much_is_asked_for() {
    for format in ["text", "json"] {
        let text = life(&["--log-format", format]);
        assert!(
            text.contains("model:   tiny.gguf (") && text.contains("worker:  superfluid-workerd ("),
            "{text}"
        );
        let paths = text.split(|c: char| c.is_whitespace() || "\"'(".contains(c));
        let paths: Vec<&str> = paths.filter(|word| word.starts_with('/')).collect();
        assert!(paths.is_empty(), "{paths:?} in {text}");
    }
    let text = life(&["--log-level", "debug"]);
    assert!(text.contains("/tiny.gguf (") && text.contains("/superfluid-workerd ("), "{text}");
}

#[test]
fn how_to_ask_the_first_question_is_told_once() {
    let mut daemon = start(&[]);
    for path in ["unload", "load", "unload", "load"] {
        let reply = rest(&mut daemon.post_to(&format!("/v1/models/{path}"), r#"{"model":"tiny"}"#));
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
    daemon.signal("-TERM");
    let mut text = std::mem::take(&mut daemon.said);
    daemon.log.read_to_string(&mut text).unwrap();
    let count = |what: &str| text.matches(what).count();
    assert_eq!((count("ready: tiny"), count("Ctrl-C stops"), count("curl")), (3, 1, 1), "{text}");
}
