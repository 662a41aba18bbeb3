//! A worker's process: frames on stdin and stdout, log on stderr, reaped at once.

use super::lines::{self, Tail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::supervise::{Exit, ExitStatus};
use superfluid_core::wire::{Decoder, ToDaemon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

/// How long pipes are read on after the process ended: something it started may hold them open.
const AFTER_EXIT: Duration = Duration::from_millis(500);
/// How long a process that closed its stdout may take to end.
const AFTER_EOF: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment; credentials were taken out before.
    pub env: Vec<(OsString, OsString)>,
}

/// What a process did.
#[derive(Debug)]
pub(super) enum Happening {
    Frame(ToDaemon),
    LinkError(String),
    Exit(Exit),
}

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Its process group, which is its own process id too.
    group: Option<Pid>,
    stdout: ChildStdout,
    open: bool,
    given_up: bool,
    decoder: Decoder,
    buffer: Vec<u8>,
    writer: mpsc::UnboundedSender<Vec<u8>>,
    stderr: JoinHandle<()>,
    tail: Tail,
    eof_deadline: Option<Instant>,
    exited: Option<(ExitStatus, Instant)>,
}

impl Process {
    /// Starts `program` in a process group of its own, so that a Ctrl-C in the terminal reaches
    /// the daemon alone, which then ends it in good order.
    pub(super) fn spawn(program: &Program, name: &Arc<str>) -> Result<Self, Refusal> {
        let mut command = Command::new(&program.path);
        command
            .args(&program.args)
            .env_clear()
            .envs(program.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            let code = match error.kind() {
                ErrorKind::NotFound | ErrorKind::PermissionDenied => "worker_missing",
                _ => "worker_spawn",
            };
            Refusal::new(code, format!("can't start the worker {}: {error}", program.path.display()))
                .hint("check that the file exists, may be executed, and is for this machine")
        })?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let lost = || Refusal::new("worker_spawn", "a started worker has no pipes");
        let stdin = child.stdin.take().ok_or_else(lost)?;
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let stderr = child.stderr.take().ok_or_else(lost)?;
        let (writer, frames) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, frames));
        let tail = Tail::default();
        let stderr = tokio::spawn(lines::drain(stderr, tail.clone(), Arc::clone(name)));
        Ok(Self {
            child,
            group,
            stdout,
            open: true,
            given_up: false,
            decoder: Decoder::new(),
            buffer: vec![0; 32 << 10],
            writer,
            stderr,
            tail,
            eof_deadline: None,
            exited: None,
        })
    }

    /// Queues frames for its stdin. Never waits: what is queued is bounded by the number of jobs,
    /// and a worker that does not read does not answer pings either.
    pub(super) fn send(&self, frames: Vec<u8>) {
        // A writer that is gone met a closed pipe; the exit says more.
        let _ = self.writer.send(frames);
    }

    /// Kills it and what it started in its group.
    pub(super) fn kill(&mut self) {
        if self.exited.is_none() {
            self.kill_group();
            let _ = self.child.start_kill();
        }
    }

    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // An empty group is no error worth a word.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// What it does next; `Exit` is the last. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Happening {
        loop {
            if !self.given_up {
                match self.decoder.poll_frame() {
                    Some(Ok(frame)) => return Happening::Frame(frame),
                    Some(Err(error)) => return self.give_up(error.to_string()),
                    None => {}
                }
            }
            let Some((status, until)) = self.exited else {
                let eof = self.eof_deadline;
                tokio::select! {
                    biased;
                    read = self.stdout.read(&mut self.buffer), if self.open => self.took(&read),
                    status = self.child.wait() => {
                        // What it started must not live on without it.
                        self.kill_group();
                        let status = status.map_or(ExitStatus::Unknown, words);
                        self.exited = Some((status, Instant::now() + AFTER_EXIT));
                    }
                    () = until_deadline(eof), if !self.given_up => {
                        self.eof_deadline = None;
                        return self.give_up("it closed its output and stayed".into());
                    }
                }
                continue;
            };
            if self.open {
                match tokio::time::timeout_at(until, self.stdout.read(&mut self.buffer)).await {
                    Ok(read) => self.took(&read),
                    Err(_) => self.open = false,
                }
                continue;
            }
            let _ = tokio::time::timeout_at(until, &mut self.stderr).await;
            return Happening::Exit(Exit { status, stderr: self.tail.lines() });
        }
    }

    fn took(&mut self, read: &std::io::Result<usize>) {
        match read {
            Ok(n) if *n > 0 => {
                if !self.given_up {
                    self.decoder.handle_bytes(&self.buffer[..*n]);
                }
            }
            _ => {
                self.open = false;
                self.eof_deadline = Some(Instant::now() + AFTER_EOF);
            }
        }
    }

    /// Nothing it writes is read as a frame any more, but it is still drained.
    fn give_up(&mut self, why: String) -> Happening {
        self.given_up = true;
        Happening::LinkError(why)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.stderr.abort();
    }
}

async fn until_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn write(mut stdin: ChildStdin, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frames) = frames.recv().await {
        if stdin.write_all(&frames).await.is_err() {
            return;
        }
    }
}

fn words(status: std::process::ExitStatus) -> ExitStatus {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitStatus::Code { code },
        (None, Some(signal)) => ExitStatus::Signal { signal },
        (None, None) => ExitStatus::Unknown,
    }
}
