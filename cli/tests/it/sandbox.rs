//! A stand-in for a worker that was taken over: what it tries of the system, and what comes of it.
#![cfg(target_os = "linux")]

use crate::daemon::{Daemon, command, kill, rest};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use tempfile::TempDir;

/// A person's files, a listening server, and what a worker tries with them.
struct Prey {
    folder: TempDir,
    server: TcpListener,
    ear: UdpSocket,
}

impl Prey {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ssh", "mine", "park"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("ssh/id_ed25519"), "secret").unwrap();
        fs::write(folder.path().join("mine/notes"), "mine").unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let ear = UdpSocket::bind("127.0.0.1:0").unwrap();
        ear.set_nonblocking(true).unwrap();
        Self { folder, server, ear }
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
                {"send": self.ear.local_addr().unwrap().to_string()},
                {"run": "/usr/bin/true"},
            ],
        })
        .to_string()
    }

    /// Whether a datagram came; the worker has sent what it sends before it says that it is ready.
    fn heard(&self) -> bool {
        self.ear.recv(&mut [0; 16]).is_ok()
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
        name(&attempts, "send").to_string(),
    ] {
        assert!(!done(&attempts, &tried), "{tried} was done: {attempts}");
        assert!(attempts[&tried].as_str().unwrap().contains("denied"), "{attempts}");
    }
    assert!(!prey.heard());
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
    assert!(!done(&attempts, name(&attempts, "send")));
    let (attempts, status) = prey.hunted(&["--allow-network"]);
    for tried in ["connect", "listen", "send"] {
        assert!(done(&attempts, name(&attempts, tried)), "{tried}: {attempts}");
    }
    assert!(prey.heard());
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

/// Runs a program on a kernel without Landlock and, for what it starts, without seccomp.
const OLD_KERNEL: &str = r#"
import ctypes, os, struct, sys
ENOSYS, ALLOW, ERRNO = 38, 0x7FFF0000, 0x00050000
seccomp = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
gone = [444, 445, 446, seccomp]
code = [struct.pack("HBBI", 0x20, 0, 0, 0)]
for at, call in enumerate(gone):
    code.append(struct.pack("HBBI", 0x15, len(gone) - at, 0, call))
code.append(struct.pack("HBBI", 0x06, 0, 0, ALLOW))
code.append(struct.pack("HBBI", 0x06, 0, 0, ERRNO | ENOSYS))
filter = ctypes.create_string_buffer(b"".join(code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(filter)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn what_an_old_kernel_can_t_do_is_said_once() {
    let prey = Prey::new();
    let temp = tempfile::tempdir().unwrap();
    let modern = command(temp.path(), &prey.script(), &["--port", "0"]);
    let mut old = std::process::Command::new("python3");
    old.args(["-c", OLD_KERNEL]).arg(modern.get_program()).args(modern.get_args());
    old.envs(modern.get_envs().filter_map(|(name, value)| Some((name, value?))));
    old.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut daemon = Daemon::listening(temp, old);
    daemon.line("ready: tiny");
    kill("-KILL", daemon.worker());
    daemon.line("the worker is back");
    for what in ["other files (Linux 5.13 can", "the network (a kernel with seccomp filters can)"] {
        let line = format!("warning: this kernel can't keep the worker from {what}");
        assert_eq!(daemon.said.matches(&line).count(), 1, "{}", daemon.said);
    }
    assert!(prey.heard(), "the stand-in had its way");
}
