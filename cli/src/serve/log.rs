//! What is logged and how.
//!
//! Text is for people: what the daemon has to say stands there as it is, and log records between it. In
//! JSON everything is a record.

use super::stderr::Stderr;
use std::io::IsTerminal;
use superfluid_core::Refusal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Warnings, what the daemon says by itself, and a line for each request.
const DEFAULT: &str = "warn,superfluid::access=info,superfluid::daemon=info";

/// What log records name as their part begins with one of these, or is one of ours.
const OTHERS: [&str; 7] = ["hyper", "hyper_util", "mio", "rustls", "tokio", "tracing", "ureq"];
/// The parts of our own that log under a name.
const OURS: [&str; 4] = ["access", "daemon", "serve", "worker"];

/// `--log-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// A log that was asked for and makes sense.
pub(super) struct Log {
    filter: EnvFilter,
    pub(super) format: LogFormat,
}

impl Log {
    /// # Errors
    /// `bad_log_level`.
    pub(super) fn new(level: Option<&str>, format: LogFormat) -> Result<Self, Refusal> {
        let level = level.filter(|level| !level.trim().is_empty()).unwrap_or(DEFAULT);
        let refuse = |why: String| {
            Refusal::new("bad_log_level", format!("the log level {level:?} is not understood: {why}"))
                .hint("--log-level (or SUPERFLUID_LOG) takes error, warn, info, debug, trace or off")
                .hint("by part: warn,superfluid::worker=debug")
        };
        level.split(',').try_for_each(understood).map_err(refuse)?;
        let filter = EnvFilter::try_new(level).map_err(|error| refuse(error.to_string()))?;
        Ok(Self { filter, format })
    }

    /// Whether so much is asked for that absolute paths belong to it.
    pub(super) fn shows_paths(&self) -> bool {
        self.filter.max_level_hint().is_some_and(|most| most >= LevelFilter::DEBUG)
    }

    /// Sends records there from now on.
    pub(super) fn begin(self, out: Stderr) {
        let records = tracing_subscriber::fmt().with_env_filter(self.filter).with_writer(out);
        // A second subscriber is refused; the first one serves as well.
        let _ = match self.format {
            LogFormat::Text => records.with_ansi(std::io::stderr().is_terminal()).try_init(),
            LogFormat::Json => records.json().flatten_event(true).try_init(),
        };
    }
}

/// A level, or a part and its level. The filter itself takes any word for a part, and would show nothing
/// but that: a mistyped level would switch the log off.
fn understood(directive: &str) -> Result<(), String> {
    let directive = directive.trim();
    let (part, level) = match directive.split_once('=') {
        Some((part, level)) => (Some(part.trim()), level.trim()),
        None => (None, directive),
    };
    if level.parse::<LevelFilter>().is_err() || level.is_empty() {
        return Err(format!("{level:?} is no level"));
    }
    let Some(part) = part else { return Ok(()) };
    let (root, rest) = part.split_once("::").unwrap_or((part, ""));
    let ours = match root {
        "superfluid" => rest.is_empty() || OURS.iter().any(|ours| rest.split("::").next() == Some(ours)),
        _ => root.starts_with("superfluid_") || OTHERS.contains(&root),
    };
    if ours { Ok(()) } else { Err(format!("nothing logs as {part:?}")) }
}
