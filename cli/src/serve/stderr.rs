//! Standard error behind a thread: a reader that stopped reading never stops the daemon. What it
//! does not take is dropped, and said so once there is room. Absolute paths are cut down to names on the
//! way, unless they are asked for.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;
use superfluid_core::api::without_paths;
use tracing_subscriber::fmt::MakeWriter;

/// Pieces that wait for the reader, at most.
const WAITING: usize = 512;

enum Piece {
    Text(Vec<u8>),
    /// Everything before is out.
    Flush(Sender<()>),
}

/// See the module.
#[derive(Clone)]
pub(super) struct Stderr {
    pieces: SyncSender<Piece>,
    dropped: Arc<AtomicU64>,
    /// Whether paths stay whole.
    whole: bool,
}

impl Stderr {
    pub(super) fn new(whole: bool) -> Self {
        let (pieces, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        std::thread::spawn(move || write(&waiting, &counter));
        Self { pieces, dropped, whole }
    }

    /// Writes a line.
    pub(super) fn line(&self, line: &str) {
        self.send(format!("{line}\n").into_bytes());
    }

    /// Gives the reader a moment to take what waits.
    pub(super) fn flush(&self) {
        let (done, flushed) = channel();
        if self.pieces.try_send(Piece::Flush(done)).is_ok() {
            let _ = flushed.recv_timeout(Duration::from_secs(1));
        }
    }

    fn send(&self, text: Vec<u8>) {
        let text =
            if self.whole { text } else { without_paths(&String::from_utf8_lossy(&text)).into_bytes() };
        if self.pieces.try_send(Piece::Text(text)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(waiting: &Receiver<Piece>, dropped: &AtomicU64) {
    // Where writing fails there is nobody left to tell.
    for piece in waiting {
        let mut out = std::io::stderr().lock();
        match piece {
            Piece::Text(text) => {
                let lost = dropped.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(out, "({lost} lines of log were dropped: nobody read them)");
                }
                let _ = out.write_all(&text);
            }
            Piece::Flush(done) => {
                let _ = out.flush();
                let _ = done.send(());
            }
        }
    }
}

/// One log record, sent as a whole.
pub(super) struct Record(Stderr, Vec<u8>);

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.1.is_empty() {
            self.0.send(std::mem::take(&mut self.1));
        }
    }
}

impl MakeWriter<'_> for Stderr {
    type Writer = Record;

    fn make_writer(&self) -> Record {
        Record(self.clone(), Vec::new())
    }
}
