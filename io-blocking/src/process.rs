//! Runs a program to its end, within a time and with bounded output.

use crate::Cancel;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long pipes are read on after the program ended: something it started may hold them open.
const AFTER_EXIT: Duration = Duration::from_millis(500);

/// How soon it is noticed that a run is given up.
const NOTICE: Duration = Duration::from_millis(50);

/// What came of a run.
pub(crate) struct Ended {
    /// How it ended; `None` where it ran past its limit and was killed.
    pub(crate) status: Option<ExitStatus>,
    /// Its standard output, from the start.
    pub(crate) stdout: String,
    /// Its standard error, the end of it.
    pub(crate) stderr: String,
}

/// Runs `command` in a process group of its own with a closed stdin, keeping at most `most` bytes of
/// each output. Past `limit` the group is killed.
pub(crate) fn run(command: &mut Command, limit: Duration, most: usize) -> io::Result<Ended> {
    run_until(command, limit, most, &Cancel::default())
}

/// The same; the group is also killed once it is given up.
pub(crate) fn run_until(
    command: &mut Command,
    limit: Duration,
    most: usize,
    cancel: &Cancel,
) -> io::Result<Ended> {
    end(command.stdin(Stdio::null()), limit, most, cancel)
}

/// The same with a stdin that nothing is written to, and that ends when this process does.
pub(crate) fn run_tied(
    command: &mut Command,
    limit: Duration,
    most: usize,
    cancel: &Cancel,
) -> io::Result<Ended> {
    end(command.stdin(Stdio::piped()), limit, most, cancel)
}

fn end(command: &mut Command, limit: Duration, most: usize, cancel: &Cancel) -> io::Result<Ended> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    // Waiting for a child closes a stdin it still has.
    let _tie = child.stdin.take();
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let stdout = child.stdout.take().map(|pipe| keep(pipe, most, End::First));
    let stderr = child.stderr.take().map(|pipe| keep(pipe, most, End::Last));
    let (tell, ended) = channel();
    std::thread::spawn(move || {
        // The receiver lives until it has been told.
        let _ = tell.send(child.wait());
    });
    let begun = Instant::now();
    let waited = loop {
        let left = limit.saturating_sub(begun.elapsed());
        match ended.recv_timeout(left.min(NOTICE)) {
            Err(RecvTimeoutError::Timeout) if left > NOTICE && !cancel.asked() => {}
            other => break other,
        }
    };
    let status = match waited {
        Ok(status) => Some(status?),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            if let Some(group) = group {
                // It may have ended this very moment.
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = ended.recv();
            None
        }
    };
    let text = |kept: Option<Receiver<Vec<u8>>>| {
        let mut bytes = Vec::new();
        if let Some(kept) = kept {
            while let Ok(latest) = kept.recv_timeout(AFTER_EXIT) {
                bytes = latest;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Ended { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Which end of an output is kept.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Drains a pipe to its end, whatever it says, and hands over what is kept of it.
fn keep(mut pipe: impl Read + Send + 'static, most: usize, end: End) -> Receiver<Vec<u8>> {
    let (tell, kept) = channel();
    std::thread::spawn(move || {
        let mut bytes: Vec<u8> = Vec::new();
        let mut buffer = [0; 8 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            let before = bytes.len();
            bytes.extend_from_slice(&buffer[..count]);
            match end {
                End::First => bytes.truncate(most.max(before)),
                End::Last if bytes.len() > most => drop(bytes.drain(..bytes.len() - most)),
                End::Last => {}
            }
            if tell.send(bytes.clone()).is_err() {
                return;
            }
        }
    });
    kept
}
