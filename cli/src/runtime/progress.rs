//! An install's progress: a bar on a terminal, plain lines elsewhere. All on stderr.

use crate::{interrupt, print};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use superfluid_core::install::machine::Event;
use superfluid_io_blocking::Cancel;
use superfluid_io_blocking::install::Reporter;

/// Where there is no bar, a long fetch says so this often.
const STEP: u64 = 64 << 20;

/// Tells people what an install is doing.
pub(crate) struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
    /// Bytes of the present fetch, where known.
    size: Option<u64>,
    /// Bytes of the present fetch at which the next line is due.
    due: u64,
    /// What gives it up.
    cancel: Cancel,
}

impl Progress {
    /// For this process's stderr.
    pub(crate) fn new() -> Self {
        let cancel = Cancel::default();
        Self { terminal: std::io::stderr().is_terminal(), bar: None, size: None, due: STEP, cancel }
    }

    /// The same; a signal gives up what is being told of.
    pub(crate) fn interruptible() -> Self {
        Self { cancel: interrupt::cancel(), ..Self::new() }
    }

    pub(crate) fn begin(&mut self, name: &str, size: Option<u64>) {
        self.end();
        (self.due, self.size) = (STEP, size);
        if !self.terminal {
            return;
        }
        let bar = match size {
            Some(size) => ProgressBar::new(size),
            None => ProgressBar::no_length(),
        };
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        let template = if size.is_some() {
            "  {bar:28} {binary_bytes:>10}/{binary_total_bytes} {binary_bytes_per_sec:>12} {eta:>4} left {wide_msg}"
        } else {
            "  {binary_bytes:>10} {binary_bytes_per_sec:>12} {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(print::plain(name));
        self.bar = Some(bar);
    }

    pub(crate) fn step(&mut self, done: u64, total: Option<u64>) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        } else if done >= self.due && !self.terminal {
            self.due = done.saturating_add(STEP);
            let of = total.map_or_else(String::new, |total| format!(" of {}", print::bytes(total)));
            print::note(&format!("  {}{of}", print::bytes(done)));
        }
    }

    /// The same file again.
    pub(crate) fn begin_again(&mut self, name: &str) {
        self.begin(name, self.size);
    }

    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Reporter for Progress {
    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    fn event(&mut self, event: &Event) {
        if let Event::Progress { done, total } = event {
            return self.step(*done, *total);
        }
        self.end();
        match event {
            Event::Waiting => print::note("waiting for another install of this runtime to end"),
            Event::Swept { entry } => print::note(&format!("removing {entry}, left by a run that was ended")),
            Event::Restored { name } => {
                print::note(&format!("putting {name} back, set aside by a run that was ended"));
            }
            Event::Planned { name, reason } => print::note(&format!("{name}: {reason}")),
            Event::Fetching { name, size, from } => {
                let size_words = size.map_or_else(String::new, |size| format!(" ({})", print::bytes(size)));
                print::note(&format!("fetching {name}{size_words} from {from}"));
                self.begin(name, *size);
            }
            Event::Retrying { name, why, after_ms, have } => {
                let rest = match have {
                    0 => String::new(),
                    have => format!(", going on after {}", print::bytes(*have)),
                };
                let seconds = Duration::from_millis(*after_ms);
                print::note(&format!("{name}: {why}; trying again in {seconds:?}{rest}"));
                self.begin_again(name);
            }
            Event::Verified { name, sha256 } => print::note(&format!("verified {name}: sha256 {sha256}")),
            Event::Unpacking { name, files, bytes } => {
                print::note(&format!("unpacking {name}: {files} files, {}", print::bytes(*bytes)));
            }
            Event::Packages { count, bytes, from } => {
                print::note(&format!(
                    "installing {count} packages with pip ({}) from {from}",
                    print::bytes(*bytes)
                ));
            }
            Event::Checking => print::note("checking that its worker runs here"),
            Event::NextPlan { given_up, reason, next } => {
                print::note(&format!("{given_up} does not stand here: {reason}; trying {next}"));
            }
            Event::Warning(refusal) => print::warning(refusal),
            Event::Finished(finished) => {
                for device in finished.report.iter().flat_map(|report| &report.devices) {
                    let memory = match device.memory_total {
                        0 => String::new(),
                        total => format!(", {}", print::bytes(total)),
                    };
                    print::note(&format!("  device: {} ({}{memory})", device.name, device.backend));
                }
            }
            // Progress has been dealt with; a failure is told by whoever asked.
            Event::Progress { .. } | Event::Failed(_) => {}
        }
    }
}
