//! llama.cpp's own log: silent unless asked for, but its last complaints are kept, so that a
//! failed load can say why.
#![expect(unsafe_code, reason = "C calls back with a C string")]

use core::ffi::{CStr, c_char, c_int, c_void};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

const KEPT_LINES: usize = 8;
const KEPT_BYTES: usize = 512;
const WARN: c_int = 3;
const ERROR: c_int = 4;
const CONTINUED: c_int = 5;

static SHOWN: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<Kept> = Mutex::new(Kept { lines: VecDeque::new(), open: false });

struct Kept {
    lines: VecDeque<String>,
    /// The last line is kept and not ended yet.
    open: bool,
}

/// Whether the log is written to stderr as it comes.
pub(crate) fn show(shown: bool) {
    SHOWN.store(shown, Ordering::Relaxed);
}

/// Warnings and errors since the last call, oldest first; a few at most.
pub(crate) fn take_complaints() -> Vec<String> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.open = false;
    kept.lines.drain(..).collect()
}

fn keep(level: c_int, text: &str) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match level {
        WARN | ERROR => {
            if kept.lines.len() == KEPT_LINES {
                kept.lines.pop_front();
            }
            kept.lines.push_back(String::new());
        }
        CONTINUED if kept.open => {}
        _ => {
            kept.open = false;
            return;
        }
    }
    kept.open = !text.ends_with('\n');
    if let Some(line) = kept.lines.back_mut() {
        let room = KEPT_BYTES.saturating_sub(line.len());
        let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        line.push_str(text[..end].trim_end());
    }
}

/// What `llama_log_set` and `ggml_log_set` are given.
///
/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe extern "C" fn callback(level: c_int, text: *const c_char, _user: *mut c_void) {
    if text.is_null() {
        return;
    }
    // SAFETY: not null, hence a C string that lives as long as the call; it is copied.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    if SHOWN.load(Ordering::Relaxed) {
        // A log that can't be written is no reason to stop.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    keep(level, &text);
}

/// What `ggml_set_abort_callback` is given: the last words of a failed assertion, after which ggml
/// ends the process. Its own way prints them too but may start a debugger for a backtrace.
///
/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe extern "C" fn last_words(text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: not null, hence a C string that lives as long as the call.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let _ = writeln!(std::io::stderr(), "llama.cpp ended the worker: {}", text.trim_end());
}
