//! How a process ended, in words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// What the system says about an ended process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code.
    Code {
        /// 0 is success.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// The system's number.
        signal: i32,
    },
    /// The system does not say.
    Unknown,
}

/// An ended process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// How it ended.
    pub status: ExitStatus,
    /// The last lines it wrote on stderr, oldest first; bounded by the driver.
    pub stderr: Vec<String>,
}

/// `exit code 3`, `killed by SIGSEGV (invalid memory access)`.
impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code { code: 0 } => f.write_str("it exited by itself with code 0"),
            Self::Code { code: 126 } => f.write_str("exit code 126 (a program it needs can't be run)"),
            Self::Code { code: 127 } => {
                f.write_str("exit code 127 (a program or library it needs is missing)")
            }
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => f.write_str(&signal_words(signal)),
            Self::Unknown => f.write_str("the system does not say how"),
        }
    }
}

impl ExitStatus {
    /// What a person can do about it, where the status alone tells.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Signal { signal: 9 } => Some(
                "the system kills a process like this when memory runs out: try a smaller model, --max-context or --max-batch",
            ),
            Self::Signal { signal: 4 } => Some(
                "this build uses instructions that this processor lacks: install another build or backend",
            ),
            Self::Code { code: 127 } => Some("its last lines name what is missing"),
            _ => None,
        }
    }
}

/// Numbers below 16 without 7, 10 and 12 are the same on Linux and macOS.
fn signal_words(signal: i32) -> String {
    let (name, meaning) = match signal {
        1 => ("SIGHUP", "its terminal closed"),
        2 => ("SIGINT", "interrupted"),
        3 => ("SIGQUIT", "quit"),
        4 => ("SIGILL", "an instruction this processor lacks"),
        5 => ("SIGTRAP", "trap"),
        6 => ("SIGABRT", "it gave up on itself"),
        8 => ("SIGFPE", "arithmetic fault"),
        9 => ("SIGKILL", "killed from outside"),
        11 => ("SIGSEGV", "invalid memory access"),
        13 => ("SIGPIPE", "broken pipe"),
        15 => ("SIGTERM", "asked to end"),
        _ => return format!("killed by signal {signal}"),
    };
    format!("killed by {name} ({meaning})")
}
