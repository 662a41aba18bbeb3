//! Signals that whoever started this process has it ignore: `nohup` SIGHUP, a shell SIGINT for a job in
//! the background. They stay ignored.

use std::sync::OnceLock;

/// A signal that asks a process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Hangup = 1,
    Interrupt = 2,
    Terminate = 15,
}

impl Ending {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Terminate, Self::Interrupt, Self::Hangup];

    /// As the system calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// Its number, the same on every Unix.
    pub(crate) const fn number(self) -> i32 {
        self as i32
    }
}

/// Those that are heard. What is ignored is found out by the first call, which has to come before any
/// of them is given a handler.
pub(crate) fn heard() -> impl Iterator<Item = Ending> {
    static IGNORED: OnceLock<u64> = OnceLock::new();
    let ignored = *IGNORED.get_or_init(ignored);
    Ending::ALL.into_iter().filter(move |signal| ignored & (1 << (signal.number() - 1)) == 0)
}

/// A bit for each signal that is ignored; none where the system does not say.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// A bit for each signal that is ignored. A child inherits that, and lives on after it where it is so.
#[cfg(not(target_os = "linux"))]
fn ignored() -> u64 {
    let lives_on = |signal: &Ending| {
        let kill = format!("kill -{} $$", signal.number());
        let status = std::process::Command::new("/bin/sh").args(["-c", &kill]).status();
        status.is_ok_and(|status| status.success())
    };
    Ending::ALL
        .iter()
        .filter(|signal| lives_on(signal))
        .fold(0, |all, signal| all | 1 << (signal.number() - 1))
}
