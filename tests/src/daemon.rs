//! A daemon of a test's own: a free port, a home of its own, gone when the value is dropped.

mod binaries;

pub use binaries::{Binaries, command};

use crate::http;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a daemon may take to load its model, or to stop.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a daemon is started.
#[derive(Clone, Debug)]
pub struct Setup {
    model: PathBuf,
    home: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    log: Option<PathBuf>,
    detached: bool,
}

impl Setup {
    /// `superfluid serve <model>` with `home` as `SUPERFLUID_HOME`.
    pub fn new(model: &Path, home: &Path) -> Self {
        let (arguments, variables) = (Vec::new(), Vec::new());
        Self { model: model.into(), home: home.into(), arguments, variables, log: None, detached: false }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sends the daemon's log to a file; otherwise it is kept in memory.
    #[must_use]
    pub fn log_to(mut self, file: &Path) -> Self {
        self.log = Some(file.into());
        self
    }

    /// Keeps a terminal's Ctrl-C from it, for a parent that passes signals on itself.
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    /// Starts it on a free port and waits until it is ready to answer.
    pub fn start(self) -> Result<Daemon, Ended> {
        // Between choosing a port and listening on it another process may take it.
        let mut tries = 0;
        loop {
            tries += 1;
            let mut daemon = self.spawn(free_port());
            match daemon.wait_ready() {
                Ok(()) => return Ok(daemon),
                Err(ended) if tries < 4 && ended.stderr.contains("in use") => {}
                Err(ended) => return Err(ended),
            }
        }
    }

    /// Starts it on a port without waiting.
    ///
    /// # Panics
    /// Where the binary can't be run at all.
    pub fn spawn(&self, port: u16) -> Daemon {
        let mut command = command(&self.home);
        command.arg("serve").arg(&self.model).args(["--port", &port.to_string()]).args(&self.arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(path) = &self.log {
            let file = File::create(path).unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
            command.stderr(file);
        }
        if self.detached {
            command.process_group(0);
        }
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let stdout = Log::follow(child.stdout.take().expect("it is piped"));
        let stderr = match (&self.log, child.stderr.take()) {
            (None, Some(pipe)) => Log::follow(pipe),
            (path, _) => Log::File(path.clone().unwrap_or_default()),
        };
        Daemon { child, address: (Ipv4Addr::LOCALHOST, port).into(), stdout, stderr }
    }
}

/// A daemon that ended before it was ready.
#[derive(Debug)]
pub struct Ended {
    /// How; `None` where it was killed for taking too long.
    pub status: Option<ExitStatus>,
    /// All it wrote on standard output.
    pub stdout: String,
    /// All it wrote on standard error.
    pub stderr: String,
}

/// A running daemon; dropping it kills it.
pub struct Daemon {
    child: Child,
    address: SocketAddr,
    stdout: Log,
    stderr: Log,
}

impl Daemon {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written on standard error so far.
    pub fn log(&self) -> String {
        self.stderr.text()
    }

    /// Waits until `/health` answers 200.
    pub fn wait_ready(&mut self) -> Result<(), Ended> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.ended(Some(status)));
            }
            if http::get(self.address, "/health").is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Err(self.ended(None));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to stop, as a service manager does.
    pub fn terminate(&self) {
        self.terminator()();
    }

    /// What [`Self::terminate`] does, for another thread.
    pub fn terminator(&self) -> impl Fn() + Send + 'static {
        let id = Pid::from_child(&self.child);
        move || {
            // It may have ended already.
            let _ = kill_process(id, Signal::TERM);
        }
    }

    /// Waits for it to end by itself, however long it serves.
    pub fn wait(mut self) -> Ended {
        let status = self.child.wait().ok();
        self.ended(status)
    }

    /// Waits for it to end by itself, and kills it where it takes too long.
    pub fn wait_soon(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return self.ended(Some(status));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.ended(None)
    }

    /// The ids of its worker processes, where the system tells (Linux).
    pub fn workers(&self) -> Vec<u32> {
        let id = self.id();
        let children = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten();
        let lists = children
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
            .collect::<Vec<_>>();
        lists.iter().flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok())).collect()
    }

    fn ended(&self, status: Option<ExitStatus>) -> Ended {
        Ended { status, stdout: self.stdout.finish(), stderr: self.stderr.finish() }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the daemon's log ---\n{}---", self.stderr.text());
        }
    }
}

/// A port nobody listens on now.
///
/// # Panics
/// Where the machine has none left.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// What a process writes.
enum Log {
    /// Read to the end, so that the process never blocks on it.
    Memory(Arc<Mutex<String>>, JoinHandle<()>),
    /// Written to a file by the process itself.
    File(PathBuf),
}

impl Log {
    fn follow(from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self::Memory(text, reader)
    }

    fn text(&self) -> String {
        match self {
            Self::Memory(text, _) => text.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Self::File(path) => String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned(),
        }
    }

    /// Everything, once the process has ended. A worker that outlives it may hold the pipe open,
    /// so the wait is bounded.
    fn finish(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        if let Self::Memory(_, reader) = self {
            while !reader.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.text()
    }
}
