//! What a person sees of a daemon.

use super::log::{Log, LogFormat};
use super::stderr::Stderr;
use crate::print::plain;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::supervise::Death;
use superfluid_core::wire::Loaded;

/// Thousandths between two lines about a load where there is no bar.
const STEP: u32 = 250;

/// The screen of one daemon.
pub(super) struct Screen {
    out: Stderr,
    terminal: bool,
    json: bool,
    bar: Option<ProgressBar>,
    due: u32,
    /// Whether the way to the first question was shown.
    greeted: bool,
}

impl Screen {
    /// Also sends the log there.
    pub(super) fn new(log: Log) -> Self {
        let out = Stderr::new(log.shows_paths());
        let json = log.format == LogFormat::Json;
        log.begin(out.clone());
        let terminal = !json && std::io::stderr().is_terminal();
        Self { out, terminal, json, bar: None, due: STEP, greeted: false }
    }

    pub(super) fn line(&self, line: &str) {
        if self.json {
            tracing::info!(target: "superfluid::daemon", "{}", plain(line.trim()));
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| self.out.line(&plain(line))),
            None => self.out.line(&plain(line)),
        }
    }

    pub(super) fn progress(&mut self, permille: u32) {
        if !self.terminal {
            if permille >= self.due && permille < 1000 {
                self.line(&format!("loading: {} %", permille / 10));
                self.due = permille - permille % STEP + STEP;
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(1000).with_message("loading");
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:28} {percent:>3} %") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(permille.into());
    }

    pub(super) fn end_progress(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// What was loaded; the first time also everything one needs to ask a question.
    pub(super) fn ready(&mut self, id: &str, loaded: &Loaded, url: &str, key: bool, took: Duration) {
        self.end_progress();
        let engine = &loaded.engine;
        self.line(&format!("ready: {id} (loaded in {:.1} s)", took.as_secs_f64()));
        self.line(&format!("  runtime  {}", loaded.description));
        self.line(&format!("  context  {} tokens a request, {} at once", engine.seq_tokens, engine.lanes));
        if std::mem::replace(&mut self.greeted, true) {
            return;
        }
        self.line(&format!("  API      {url}/v1"));
        let key = if key { " -H 'Authorization: Bearer <key>'" } else { "" };
        let id = id.replace('\'', "'\\''");
        let (path, body) = if loaded.chat {
            let messages = r#""messages":[{"role":"user","content":"Hello"}]"#;
            ("chat/completions", format!(r#"{{"model":"{id}",{messages}}}"#))
        } else {
            ("completions", format!(r#"{{"model":"{id}","prompt":"Once upon a time","max_tokens":64}}"#))
        };
        self.line(&format!("  try      curl {url}/v1/{path}{key} -H 'Content-Type: application/json' \\"));
        self.line(&format!("             -d '{body}'"));
        self.line("Ctrl-C stops");
    }

    /// Tells of a worker's death, with its last words. The line begins with `kind`.
    pub(super) fn death(&mut self, kind: &str, death: &Death) {
        self.end_progress();
        self.line(&format!("{kind}{}", death.refusal.message));
        // A worker that could say why it ends said the same on its stderr.
        let silent = death.refusal.code.starts_with("worker_");
        if silent && !death.stderr.is_empty() {
            self.line("  its last lines:");
            for line in &death.stderr {
                self.line(&format!("    {line}"));
            }
        }
        self.hints(&death.refusal);
    }

    fn hints(&self, refusal: &Refusal) {
        for hint in &refusal.hints {
            self.line(&format!("  hint: {hint}"));
        }
    }

    /// What waits is written, or nobody reads it.
    pub(super) fn close(mut self) {
        self.end_progress();
        self.out.flush();
    }
}
