//! A daemon with the built-in mock: real processes, raw sockets.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use tempfile::TempDir;

pub(crate) struct Daemon {
    pub(crate) _temp: TempDir,
    pub(crate) child: Child,
    pub(crate) log: BufReader<ChildStderr>,
    pub(crate) port: u16,
    /// What of its log was read on the way to a line.
    pub(crate) said: String,
}

/// `superfluid serve` with a home in `temp` and nothing of the tests' own environment.
pub(crate) fn serve(temp: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    command
        .arg("serve")
        .env("SUPERFLUID_HOME", temp.join("home"))
        .env_remove("SUPERFLUID_WORKER_MOCK")
        .env_remove("SUPERFLUID_API_KEY")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// One that serves a mock.
pub(crate) fn command(temp: &Path, script: &str, args: &[&str]) -> Command {
    let model = temp.join("tiny.gguf");
    fs::write(&model, script).unwrap();
    let mut command = serve(temp);
    command.args(["--runtime", "mock"]).arg(model).args(args);
    command
}

impl Daemon {
    /// The daemon of a command, as soon as it listens.
    pub(crate) fn listening(temp: TempDir, mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut daemon = Self { _temp: temp, child, log, port: 0, said: String::new() };
        let line = daemon.line("listening on http://127.0.0.1:");
        let digits = line.rsplit_once("127.0.0.1:").unwrap().1;
        daemon.port = digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
        daemon
    }

    /// A daemon that is ready.
    pub(crate) fn start(script: &str) -> Self {
        Self::start_with(script, &[])
    }

    pub(crate) fn start_with(script: &str, args: &[&str]) -> Self {
        Self::start_in(script, args, &[])
    }

    pub(crate) fn start_in(script: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut command = command(temp.path(), script, &[&["--port", "0"], args].concat());
        command.env("HF_TOKEN", "secret").env("MONKEY", "kept").envs(variables.iter().copied());
        let mut daemon = Self::listening(temp, command);
        daemon.line("ready: tiny");
        daemon
    }

    /// Reads its log up to the line that holds `needle`.
    pub(crate) fn line(&mut self, needle: &str) -> String {
        loop {
            let mut line = String::new();
            let all = &mut self.said;
            assert!(self.log.read_line(&mut line).unwrap() > 0, "it ended before {needle:?}:\n{all}");
            all.push_str(&line);
            if line.contains(needle) {
                return line;
            }
        }
    }

    pub(crate) fn ask(&self, prompt: &str, stream: bool) -> BufReader<TcpStream> {
        self.post(&format!(
            r#"{{"model":"tiny","stream":{stream},"temperature":0,"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
        ))
    }

    /// Asks for a chat completion.
    pub(crate) fn post(&self, body: &str) -> BufReader<TcpStream> {
        self.post_to("/v1/chat/completions", body)
    }

    pub(crate) fn post_to(&self, path: &str, body: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            socket,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        BufReader::new(socket)
    }

    pub(crate) fn health(&self) -> serde_json::Value {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let text = rest(&mut BufReader::new(socket));
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Its only child.
    pub(crate) fn worker(&self) -> u32 {
        *self.workers().first().expect("a worker")
    }

    /// Its children.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        children.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    pub(crate) fn signal(&self, signal: &str) {
        kill(signal, self.child.id());
    }
}

/// Holds a reply back, so that a test says how long it takes.
pub(crate) struct Gate(TempDir);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// For a script: what waits before the twentieth token to a prompt that holds `slow`.
    pub(crate) fn fault(&self) -> String {
        format!(r#"{{"at":"token","do":"wait","nth":20,"prompt":"slow","until":{:?}}}"#, self.file())
    }

    /// The flag that lets a worker see it.
    pub(crate) fn flags(&self) -> [&str; 2] {
        ["--allow-read", self.0.path().to_str().unwrap()]
    }

    pub(crate) fn open(&self) {
        fs::write(self.file(), "").unwrap();
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("open")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn kill(signal: &str, id: u32) {
    assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
}

/// Reads up to what holds `needle`.
pub(crate) fn until(reply: &mut BufReader<TcpStream>, needle: &str) {
    let mut line = String::new();
    while !line.contains(needle) {
        line.clear();
        assert!(reply.read_line(&mut line).unwrap() > 0, "the reply ended before {needle:?}");
    }
}

pub(crate) fn rest(reply: &mut impl Read) -> String {
    let mut text = String::new();
    reply.read_to_string(&mut text).unwrap();
    text
}

/// Whether a process still does anything; one that is dead and not yet reaped does not.
pub(crate) fn lives(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
