//! Where the API key comes from, and whose pages may use the server.

use crate::daemon::{Daemon, command, rest};
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use tempfile::TempDir;

const SCRIPT: &str = r#"{"mock":1}"#;

fn key_file(mode: u32) -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("key");
    fs::write(&path, "from-a-file\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    (temp, path)
}

/// The status of `/v1/models` with these header lines.
fn status(port: u16, headers: &str) -> String {
    at(port, "localhost", headers).split(' ').nth(1).unwrap().into()
}

/// The reply to a request for `/v1/models` at this host with these header lines.
fn at(port: u16, host: &str, headers: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(socket, "GET /v1/models HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n").unwrap();
    rest(&mut BufReader::new(socket))
}

#[test]
fn a_key_in_a_file_is_asked_for_and_a_file_that_others_can_read_is_warned_about() {
    for (mode, warned) in [(0o600, false), (0o644, true)] {
        let (_temp, path) = key_file(mode);
        let mut daemon = Daemon::start_with(SCRIPT, &["--api-key-file", path.to_str().unwrap()]);
        assert_eq!(status(daemon.port, ""), "401");
        assert_eq!(status(daemon.port, "Authorization: Bearer from-a-file\r\n"), "200");
        daemon.signal("-TERM");
        let mut log = String::new();
        daemon.log.read_to_string(&mut log).unwrap();
        assert_eq!(format!("{}{log}", daemon.said).contains("chmod 600"), warned, "mode {mode:o}");
    }
}

#[test]
fn a_key_in_the_environment_is_asked_for_and_a_flag_comes_before_it() {
    let (_temp, path) = key_file(0o600);
    let variable = [("SUPERFLUID_API_KEY", "from-the-environment")];
    let daemon = Daemon::start_in(SCRIPT, &[], &variable);
    assert_eq!(status(daemon.port, "Authorization: Bearer from-the-environment\r\n"), "200");
    assert_eq!(status(daemon.port, "Authorization: Bearer other\r\n"), "401");
    let daemon = Daemon::start_in(SCRIPT, &["--api-key-file", path.to_str().unwrap()], &variable);
    assert_eq!(status(daemon.port, "Authorization: Bearer from-the-environment\r\n"), "401");
    assert_eq!(status(daemon.port, "Authorization: Bearer from-a-file\r\n"), "200");
}

#[test]
fn a_key_that_is_none_is_told_without_the_key() {
    let (temp, path) = key_file(0o600);
    fs::write(&path, "s\u{e9}cret words\n").unwrap();
    let gone = temp.path().join("gone");
    for args in [["--api-key", "s\u{e9}cret words"], ["--api-key-file", path.to_str().unwrap()]] {
        let output = command(temp.path(), SCRIPT, &args).output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{log}");
        assert!(log.starts_with("error: the API key ") && !log.contains("s\u{e9}cret words"), "{log}");
    }
    let output = command(temp.path(), SCRIPT, &["--api-key-file", gone.to_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("gone can't be read"), "{output:?}");
}

#[test]
fn case_x04_pages_of_a_named_origin_may_use_the_server_and_no_others() {
    let daemon = Daemon::start_with(SCRIPT, &["--cors-origin", "https://chat.example"]);
    assert_eq!(status(daemon.port, "Origin: https://chat.example\r\n"), "200");
    assert_eq!(status(daemon.port, "Origin: http://localhost:3000\r\n"), "403");
    let temp = tempfile::tempdir().unwrap();
    for bad in ["*", "chat.example"] {
        let output = command(temp.path(), SCRIPT, &["--cors-origin", bad]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn case_t06_a_proxy_that_keeps_its_host_is_let_in_by_a_flag_that_the_refusal_names() {
    let daemon = Daemon::start_with(SCRIPT, &["--allow-host", "chat.example", "--allow-host", "b.example"]);
    for host in ["chat.example", "b.example:443", "localhost"] {
        assert!(at(daemon.port, host, "").starts_with("HTTP/1.1 200 "), "{host}");
    }
    let refused = at(daemon.port, "evil.example", "");
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("--allow-host <name>"), "{refused}");
    let temp = tempfile::tempdir().unwrap();
    for bad in ["*", "https://chat.example", "chat.example:443"] {
        let output = command(temp.path(), SCRIPT, &["--allow-host", bad, "--check"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
    // The check tells them; where any Host is answered, it says that they keep nobody out.
    let check = |host| {
        let args = ["--allow-host", "Chat.Example", "--host", host, "--port", "0", "--check"];
        let output = command(temp.path(), SCRIPT, &args).stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let [out, err] = check("127.0.0.1");
    assert!(out.contains("those of loopback, chat.example") && !err.contains("allow-host"), "{out}{err}");
    let [out, err] = check("0.0.0.0");
    assert!(err.contains("--allow-host keeps nobody out") && !out.contains("chat.example"), "{out}{err}");
}

#[test]
fn an_empty_host_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let output = command(temp.path(), SCRIPT, &["--host", ""]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: --host is empty\n  hint: "));
}
