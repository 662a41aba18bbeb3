//! What is logged and how.
//!
//! Text is for people: what the daemon has to say stands there as it is, and log records between it. In
//! JSON everything is a record.

use super::stderr::Stderr;
use std::io::IsTerminal;
use superfluid_core::Refusal;
use tracing_subscriber::EnvFilter;

/// Warnings, what the daemon says by itself, and a line for each request.
const DEFAULT: &str = "warn,superfluid::access=info,superfluid::daemon=info";

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
        let filter = EnvFilter::try_new(level).map_err(|error| {
            Refusal::new("bad_log_level", format!("the log level {level:?} is not understood: {error}"))
                .hint("--log-level (or SUPERFLUID_LOG) takes error, warn, info, debug, trace or off")
        })?;
        Ok(Self { filter, format })
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
