//! Copies an archive to a new file, from the network or this machine, hashing on the way.

use crate::files::{self, fault};
use crate::inventory::hex;
use crate::net::{self, Patience};
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;
use superfluid_core::install::Source;
use superfluid_core::install::machine::{Action, Body, Fault, FaultKind, Outcome, Resume, judge_response};

/// Why a copy ended early.
enum Stop {
    /// The source ended or failed after so many bytes of the file were there.
    Source(io::Error, u64),
    /// Something else.
    Fault(Fault),
}

/// Carries out an [`Action::Fetch`] in the runtime's directory.
pub(crate) fn perform(action: &Action, dir: &Path, progress: &mut dyn FnMut(u64)) -> Result<Outcome, Fault> {
    let Action::Fetch { source, to, max, size, after_ms, resume, connect_ms, stall_ms, .. } = action else {
        return Err(Fault::new(FaultKind::Other, "not a fetch"));
    };
    std::thread::sleep(Duration::from_millis(*after_ms));
    let to = dir.join(to);
    match source {
        Source::Url { url } => {
            let patience = Patience {
                connect: Duration::from_millis(*connect_ms),
                stall: Duration::from_millis(*stall_ms),
            };
            let response = net::open(url, patience, resume.as_ref())?;
            let body = judge_response(response.status, response.range.as_deref(), resume.as_ref(), *size)?;
            let copy = match (body, resume) {
                (Body::Rest, Some(resume)) => Copy::go_on(&to, resume),
                _ => Copy::begin(&to),
            };
            let copy = copy.map_err(|error| write_fault(&to, &error))?;
            match copy.run(response.body, &to, *max, progress) {
                Ok(outcome) => Ok(outcome),
                Err(Stop::Source(error, have)) => {
                    Ok(Outcome::Broken { fault: net::read_fault(&error), have, validator: response.tag })
                }
                Err(Stop::Fault(fault)) => Err(fault),
            }
        }
        Source::File { path } => {
            let read_fault = |error: &io::Error| fault(&format!("cannot read {path}"), error);
            let file = File::open(path).map_err(|error| read_fault(&error))?;
            let copy = Copy::begin(&to).map_err(|error| write_fault(&to, &error))?;
            copy.run(file, &to, *max, progress).map_err(|stop| match stop {
                Stop::Source(error, _) => read_fault(&error),
                Stop::Fault(fault) => fault,
            })
        }
    }
}

fn write_fault(to: &Path, error: &io::Error) -> Fault {
    fault(&format!("cannot write {}", to.display()), error)
}

/// A file being written, and the hash of what is in it.
struct Copy {
    out: File,
    hash: Sha256,
    bytes: u64,
}

impl Copy {
    /// A new file, in the place of whatever an attempt before left.
    fn begin(to: &Path) -> io::Result<Self> {
        files::remove(to)?;
        Ok(Self { out: File::create_new(to)?, hash: Sha256::new(), bytes: 0 })
    }

    /// The file an attempt before left, cut to what it had.
    fn go_on(to: &Path, resume: &Resume) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut out = File::from(openat(CWD, to, flags, Mode::empty())?);
        if out.metadata()?.len() < resume.have {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "it is shorter than it was"));
        }
        out.set_len(resume.have)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 128 << 10];
        loop {
            match out.read(&mut buffer)? {
                0 => break,
                count => hash.update(&buffer[..count]),
            }
        }
        out.seek(io::SeekFrom::End(0))?;
        Ok(Self { out, hash, bytes: resume.have })
    }

    fn run(
        mut self,
        mut from: impl Read,
        to: &Path,
        max: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, Stop> {
        let mut buffer = vec![0; 128 << 10];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::Source(error, self.bytes)),
            };
            if self.bytes + count as u64 > max {
                return Err(Stop::Fault(Fault::new(
                    FaultKind::TooLarge,
                    format!("it has more than the {max} bytes expected"),
                )));
            }
            self.out.write_all(&buffer[..count]).map_err(|error| Stop::Fault(write_fault(to, &error)))?;
            self.hash.update(&buffer[..count]);
            self.bytes += count as u64;
            progress(self.bytes);
        }
        Ok(Outcome::Fetched { bytes: self.bytes, sha256: hex(self.hash) })
    }
}
