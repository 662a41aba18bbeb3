//! A worker that the test plays itself: the process only carries bytes between its stdin and
//! stdout and two FIFOs of the test's.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use superfluid_core::wire::{Decoder, ToDaemon, ToWorker, encode};
use superfluid_io_tokio::worker::Program;
use tempfile::TempDir;
use tokio::sync::mpsc;

pub(crate) struct Fake {
    dir: TempDir,
    frames: mpsc::UnboundedReceiver<Heard>,
    mouth: Arc<Mutex<Option<Sender<Vec<u8>>>>>,
}

/// What reached the worker.
#[derive(Debug)]
pub(crate) enum Heard {
    Started,
    Frame(Box<ToWorker>),
}

/// A shell command as a worker.
pub(crate) fn shell(script: &str, args: &[&Path]) -> Program {
    let mut all: Vec<OsString> = vec!["-c".into(), script.into(), "worker".into()];
    all.extend(args.iter().map(|arg| arg.as_os_str().to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    Program { path: "/bin/sh".into(), args: all, env: vec![("PATH".into(), path)] }
}

impl Fake {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (to, from) = (dir.path().join("to"), dir.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success(), "mkfifo");
        let (heard, frames) = mpsc::unbounded_channel();
        let mouth: Arc<Mutex<Option<Sender<Vec<u8>>>>> = Arc::default();
        let speak = Arc::clone(&mouth);
        // Ends with the test process; a FIFO nobody opens any more blocks it for good.
        std::thread::spawn(move || {
            loop {
                let Ok(mut ears) = File::open(&to) else { return };
                let Ok(mut out) = File::options().write(true).open(&from) else { return };
                let (words, said) = channel::<Vec<u8>>();
                *speak.lock().unwrap() = Some(words);
                // The pipe may be full while the test's only thread has better things to do.
                std::thread::spawn(move || said.iter().all(|bytes| out.write_all(&bytes).is_ok()));
                if heard.send(Heard::Started).is_err() {
                    return;
                }
                let mut decoder = Decoder::new();
                let mut buffer = vec![0; 1 << 16];
                while let Ok(n @ 1..) = ears.read(&mut buffer) {
                    decoder.handle_bytes(&buffer[..n]);
                    while let Some(frame) = decoder.poll_frame() {
                        let _ = heard.send(Heard::Frame(Box::new(frame.unwrap())));
                    }
                }
            }
        });
        Self { dir, frames, mouth }
    }

    pub(crate) fn program(&self) -> Program {
        let (to, from) = (self.dir.path().join("to"), self.dir.path().join("from"));
        shell("cat \"$2\" & exec cat > \"$1\"", &[&to, &from])
    }

    /// The next frame, pings aside.
    pub(crate) async fn hear(&mut self) -> ToWorker {
        loop {
            match self.frames.recv().await.expect("the worker is gone") {
                Heard::Frame(frame) if !matches!(*frame, ToWorker::Ping { .. }) => return *frame,
                Heard::Frame(_) | Heard::Started => {}
            }
        }
    }

    /// Waits for the next process.
    pub(crate) async fn started(&mut self) {
        while !matches!(self.frames.recv().await.expect("no worker"), Heard::Started) {}
    }

    pub(crate) fn say(&self, frame: &ToDaemon) {
        let mut bytes = Vec::new();
        encode(frame, &mut bytes).unwrap();
        self.say_bytes(&bytes);
    }

    pub(crate) fn say_bytes(&self, bytes: &[u8]) {
        let mouth = self.mouth.lock().unwrap();
        mouth.as_ref().expect("no worker").send(bytes.to_vec()).unwrap();
    }
}
