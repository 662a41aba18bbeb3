//! A stand-in for a worker that was taken over: what it tries of the system, and what comes of it.
#![cfg(target_os = "linux")]

use crate::daemon::{Daemon, rest};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use tempfile::TempDir;

/// A person's files, a listening server, and what a worker tries with them.
struct Prey {
    folder: TempDir,
    server: TcpListener,
}

impl Prey {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ssh", "mine", "park"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("ssh/id_ed25519"), "secret").unwrap();
        fs::write(folder.path().join("mine/notes"), "mine").unwrap();
        Self { folder, server: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn script(&self) -> String {
        json!({
            "mock": 1,
            "attempts": [
                {"read": self.path("ssh/id_ed25519")},
                {"read": self.path("ssh")},
                {"read": "/etc/shadow"},
                {"read": "/usr/bin"},
                {"write": self.path("mine/notes")},
                {"write": self.path("park/state")},
                {"write": "/tmp/superfluid-sandbox-test"},
                {"connect": self.server.local_addr().unwrap().to_string()},
                {"listen": "127.0.0.1:0"},
                {"run": "/usr/bin/true"},
            ],
        })
        .to_string()
    }

    /// What came of each attempt, and whether the kernel can confine at all.
    fn hunted(&self, args: &[&str]) -> (Value, String) {
        let daemon = Daemon::start_with(&self.script(), args);
        let mut socket = TcpStream::connect(("127.0.0.1", daemon.port)).unwrap();
        socket.write_all(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let text = rest(&mut BufReader::new(socket));
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.worker())).unwrap();
        (body["data"][0]["capabilities"]["attempts"].clone(), status)
    }
}

fn done(attempts: &Value, name: &str) -> bool {
    let result = &attempts[name];
    assert!(*result == json!(true) || result.is_string(), "{name} was not tried: {attempts}");
    result.as_bool() == Some(true)
}

/// What an attempt is called: the network's addresses differ.
fn name<'a>(attempts: &'a Value, begin: &str) -> &'a str {
    let mut names = attempts.as_object().unwrap().keys();
    names.find(|name| name.starts_with(begin)).unwrap()
}

#[test]
fn a_worker_reads_no_one_s_files_writes_nowhere_and_has_no_network() {
    let prey = Prey::new();
    let (attempts, status) = prey.hunted(&[]);
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    for tried in [
        format!("read {}", prey.path("ssh/id_ed25519")),
        format!("read {}", prey.path("ssh")),
        "read /etc/shadow".into(),
        format!("write {}", prey.path("mine/notes")),
        format!("write {}", prey.path("park/state")),
        "write /tmp/superfluid-sandbox-test".into(),
        name(&attempts, "connect").to_string(),
        name(&attempts, "listen").to_string(),
    ] {
        assert!(!done(&attempts, &tried), "{tried} was done: {attempts}");
        assert!(attempts[&tried].as_str().unwrap().contains("denied"), "{attempts}");
    }
    // What it needs it may.
    assert!(done(&attempts, "read /usr/bin") && done(&attempts, "run /usr/bin/true"), "{attempts}");
    assert_eq!(fs::read_to_string(prey.folder.path().join("mine/notes")).unwrap(), "mine");
}

#[test]
fn each_part_is_off_only_by_a_flag_of_its_own() {
    let prey = Prey::new();
    let (ssh, park) = (prey.path("ssh"), prey.path("park"));
    let (attempts, _) = prey.hunted(&["--allow-read", &ssh]);
    assert!(done(&attempts, &format!("read {ssh}/id_ed25519")), "{attempts}");
    assert!(!done(&attempts, &format!("write {park}/state")) && !done(&attempts, name(&attempts, "connect")));
    let (attempts, _) = prey.hunted(&["--allow-write", &park]);
    assert!(done(&attempts, &format!("write {park}/state")), "{attempts}");
    assert!(!done(&attempts, &format!("read {ssh}")) && !done(&attempts, name(&attempts, "connect")));
    let (attempts, status) = prey.hunted(&["--allow-network"]);
    assert!(
        done(&attempts, name(&attempts, "connect")) && done(&attempts, name(&attempts, "listen")),
        "{attempts}"
    );
    assert!(!done(&attempts, &format!("read {ssh}")) && !done(&attempts, &format!("write {park}/state")));
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

#[test]
fn without_a_sandbox_a_worker_may_what_its_user_may() {
    let prey = Prey::new();
    let (attempts, status) = prey.hunted(&["--no-sandbox"]);
    assert!(status.contains("NoNewPrivs:\t0"), "{status}");
    for tried in
        [format!("read {}", prey.path("ssh/id_ed25519")), format!("write {}", prey.path("park/state"))]
    {
        assert!(done(&attempts, &tried), "{attempts}");
    }
    assert!(done(&attempts, name(&attempts, "connect")));
}

#[test]
fn a_worker_that_can_t_be_confined_as_it_should_does_not_serve() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("m"), "{\"mock\":1}").unwrap();
    let mut worker = std::process::Command::new(env!("CARGO_BIN_EXE_superfluid-workerd"));
    let ended = worker
        .args(["--engine", "mock", "serve"])
        .env("SUPERFLUID_SANDBOX", "{\"read\":7}")
        .stdin(std::process::Stdio::piped())
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{log}");
    assert!(log.contains("SUPERFLUID_SANDBOX is not understood") && ended.stdout.is_empty(), "{log}");
}
