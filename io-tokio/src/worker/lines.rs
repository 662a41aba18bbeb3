//! A worker's stderr: always drained, logged line by line, the last lines kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of one line that are kept.
const LINE: usize = 2048;
/// Lines kept.
const LINES: usize = 20;

/// The last lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Reads to the end. Memory stays bounded whatever comes: a line longer than [`LINE`] is cut.
pub(super) async fn drain(mut from: impl AsyncRead + Unpin, tail: Tail, name: Arc<str>) {
    let mut buffer = vec![0; 8192];
    let mut line = Vec::new();
    let mut cut = false;
    loop {
        let n = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(n) => n,
        };
        for part in buffer[..n].split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = LINE - line.len();
            cut |= text.len() > room;
            line.extend_from_slice(&text[..text.len().min(room)]);
            if whole {
                finish(&mut line, &mut cut, &tail, &name);
            }
        }
    }
    if !line.is_empty() {
        finish(&mut line, &mut cut, &tail, &name);
    }
}

fn finish(line: &mut Vec<u8>, cut: &mut bool, tail: &Tail, name: &str) {
    let mut text = printable(line);
    if *cut {
        text.push_str(" …");
    }
    line.clear();
    *cut = false;
    if text.trim().is_empty() {
        return;
    }
    tracing::debug!(target: "superfluid::worker", model = name, "{text}");
    tail.push(text);
}

/// What a terminal can be given: control characters are escaped.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        if c.is_control() && c != '\t' { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}
