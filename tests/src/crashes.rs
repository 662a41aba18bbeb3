//! Crash runs: streams are opened, their worker is killed or stopped at a random token, and each
//! stream is read to its end. What a text has to be is the caller's to judge.

use crate::daemon::Daemon;
use crate::http;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What befalls the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL: it is gone at once.
    Kill,
    /// SIGSTOP: it stands still until the daemon's patience is over.
    Stop,
}

/// One stream, read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub finish: String,
    /// Prompt and completion tokens, as its usage says.
    pub tokens: [u64; 2],
}

/// One blow and what the streams came to.
#[derive(Clone, Debug)]
pub struct Round {
    /// In the order of their requests.
    pub streams: Vec<Said>,
    /// Events that had come when the worker was hit.
    pub at: usize,
    /// The longest that all streams together were silent after the blow.
    pub pause: Duration,
}

/// Numbers that look random and are the same again for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).unwrap_or(0)
    }
}

/// What the streams have told so far.
#[derive(Default)]
struct Seen {
    events: usize,
    ended: usize,
    /// When the latest event came after the blow, or the blow itself.
    latest: Option<Instant>,
    pause: Duration,
}

/// Opens a stream for each of `bodies` at `path`, hits the worker once `at` events have come, and
/// reads on. `None` where the streams ended before.
///
/// # Errors
/// A stream that does not end as one should: an error event, no `[DONE]`, two ends.
pub fn round(
    daemon: &Daemon,
    path: &str,
    bodies: &[Value],
    blow: Blow,
    at: usize,
) -> io::Result<Option<Round>> {
    let seen = Mutex::new(Seen::default());
    let came = Condvar::new();
    let lock = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    let told = || {
        let mut seen = lock();
        seen.events += 1;
        if let Some(latest) = &mut seen.latest {
            let before = std::mem::replace(latest, Instant::now());
            let silence = latest.saturating_duration_since(before);
            seen.pause = seen.pause.max(silence);
        }
        drop(seen);
        came.notify_all();
    };
    let streams = thread::scope(|scope| {
        let threads: Vec<_> = bodies
            .iter()
            .map(|body| {
                scope.spawn(|| {
                    let said = read(daemon, path, body, &told);
                    lock().ended += 1;
                    came.notify_all();
                    said
                })
            })
            .collect();
        let mut now = lock();
        while now.events < at && now.ended < bodies.len() {
            now = came.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        if now.ended < bodies.len() {
            hit(daemon, blow);
            now.latest = Some(Instant::now());
        }
        drop(now);
        threads.into_iter().map(|thread| thread.join().expect("it reads")).collect::<io::Result<Vec<_>>>()
    })?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(seen.latest.map(|_| Round { streams, at, pause: seen.pause }))
}

fn hit(daemon: &Daemon, blow: Blow) {
    let signal = match blow {
        Blow::Kill => Signal::KILL,
        Blow::Stop => Signal::STOP,
    };
    for worker in daemon.workers() {
        if let Some(pid) = i32::try_from(worker).ok().and_then(Pid::from_raw) {
            // It may have ended by itself this very moment.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Reads one stream to its end; `told` is called for each event with text.
///
/// # Errors
/// As [`round`].
pub fn read(daemon: &Daemon, path: &str, body: &Value, told: &impl Fn()) -> io::Result<Said> {
    let mut events = http::post_stream(daemon.address(), path, body)?;
    let mut said = Said::default();
    while let Some(event) = events.next_json()? {
        if event["error"].is_object() {
            return Err(io::Error::other(format!("the stream failed: {event}")));
        }
        let choice = &event["choices"][0];
        let text = choice["text"].as_str().or(choice["delta"]["content"].as_str()).unwrap_or_default();
        if !text.is_empty() {
            said.text += text;
            told();
        }
        if let Some(finish) = choice["finish_reason"].as_str()
            && !std::mem::replace(&mut said.finish, finish.into()).is_empty()
        {
            return Err(io::Error::other(format!("a second end: {event}")));
        }
        if event["usage"].is_object() {
            let usage = &event["usage"];
            said.tokens =
                ["prompt_tokens", "completion_tokens"].map(|name| usage[name].as_u64().unwrap_or(0));
        }
    }
    Ok(said)
}
