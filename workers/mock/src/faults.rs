//! What goes wrong, carried out.

use crate::script::{At, Deed, Fault};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::wire::{PROTOCOL, ToDaemon, encode};

/// A script's faults and how often each could have happened.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    faults: Vec<(Fault, u64)>,
    /// The wire itself, past everyone who keeps it clean.
    wire: Option<Arc<File>>,
}

impl Faults {
    /// These faults, none of which has happened.
    pub fn new(faults: Vec<Fault>) -> Self {
        // Taken before the kit reserves standard output, or not at all.
        Self { faults: faults.into_iter().map(|fault| (fault, 0)).collect(), wire: None }
    }

    /// Keeps standard output as it is now as the wire.
    pub(crate) fn keep_the_wire(&mut self) -> Result<(), Refusal> {
        let wire = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3);
        let wire = wire.map_err(|e| Refusal::new("broken_output", format!("standard output: {e}")))?;
        self.wire = Some(Arc::new(File::from(wire)));
        Ok(())
    }

    /// These faults, with the wire that `self` keeps.
    pub(crate) fn with(&self, faults: Vec<Fault>) -> Self {
        Self { wire: self.wire.clone(), ..Self::new(faults) }
    }

    /// `times` chances for a fault at `at` of a sequence that holds `text`. Does what is due and
    /// comes back with what the caller must do itself; an error is the script's.
    pub fn meet(&mut self, at: At, text: &[u8], times: u64) -> Result<Option<Deed>, Refusal> {
        let mut own = None;
        for index in 0..self.faults.len() {
            let (fault, count) = &mut self.faults[index];
            if fault.at != at || !holds(text, fault.prompt.as_bytes()) {
                continue;
            }
            *count += times.max(1);
            if fault.nth != 0 && *count != fault.nth {
                continue;
            }
            let fault = fault.clone();
            if fault.once.as_ref().is_some_and(|path| !made(path)) {
                continue;
            }
            own = self.carry_out(&fault)?.or(own);
        }
        Ok(own)
    }

    fn carry_out(&self, fault: &Fault) -> Result<Option<Deed>, Refusal> {
        match fault.deed {
            Deed::Error => return Err(Refusal::new("mock_fault", "the script wants an error here")),
            Deed::Capacity | Deed::Nan => return Ok(Some(fault.deed)),
            Deed::Abort => std::process::abort(),
            Deed::Exit => std::process::exit(i32::from(fault.code)),
            Deed::Hang => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            Deed::Wait => {
                while fault.until.as_ref().is_some_and(|path| !path.exists()) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Deed::Junk => self.put(b"ggml_init: this line has no business here\n"),
            Deed::Protocol => {
                let (runtime, version) = ("mock".into(), "0.0.0".into());
                let mut bytes = Vec::new();
                let hello = ToDaemon::Hello { protocol: PROTOCOL + 1, runtime, version };
                if encode(&hello, &mut bytes).is_ok() {
                    self.put(&bytes);
                }
            }
            Deed::Stderr => {
                let line = format!("{}\n", "mock ".repeat(25));
                write_all(&line.repeat((1 << 20) / line.len() + 1));
            }
            Deed::LongLine => write_all(&"mock".repeat((10 << 20) / 4)),
        }
        Ok(None)
    }

    fn put(&self, bytes: &[u8]) {
        if let Some(mut wire) = self.wire.as_deref() {
            let _ = wire.write_all(bytes);
        }
    }
}

fn write_all(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Whether the file is new.
fn made(path: &std::path::Path) -> bool {
    OpenOptions::new().write(true).create_new(true).open(path).is_ok()
}

/// Whether `text` holds `part` anywhere.
pub(crate) fn holds(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}
