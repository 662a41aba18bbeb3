//! Copies an archive to a new file, from the network or this machine, hashing on the way.

use crate::Cancel;
use crate::copy::{Copy, Hash, Stop};
use crate::files::fault;
use crate::net::{self, Patience};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;
use superfluid_core::install::Source;
use superfluid_core::install::machine::{Action, Body, Fault, FaultKind, Outcome, judge_response};

/// Carries out an [`Action::Fetch`] in the runtime's directory.
pub(crate) fn perform(
    action: &Action,
    dir: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, Fault> {
    let Action::Fetch { source, to, max, size, after_ms, resume, connect_ms, stall_ms, .. } = action else {
        return Err(Fault::new(FaultKind::Other, "not a fetch"));
    };
    cancel.sleep(Duration::from_millis(*after_ms));
    if cancel.asked() {
        return Err(Cancel::fault());
    }
    let to = dir.join(to);
    match source {
        Source::Url { url } => {
            let patience = Patience {
                connect: Duration::from_millis(*connect_ms),
                stall: Duration::from_millis(*stall_ms),
            };
            let response = net::open(url, patience, resume.as_ref())?;
            let body = judge_response(response.status, response.range.as_deref(), resume.as_ref(), *size)
                .map_err(|fault| fault.after(response.retry_after.as_deref()))?;
            let copy = match (body, resume) {
                (Body::Rest, Some(resume)) => Copy::go_on(&to, resume, Hash::sha256()),
                _ => Copy::begin(&to, Hash::sha256()),
            };
            let copy = copy.map_err(|error| write_fault(&to, &error))?;
            match copy.run(response.body, &to, *max, cancel, progress) {
                Ok((bytes, sha256)) => Ok(Outcome::Fetched { bytes, sha256 }),
                Err(Stop::Source(error, have)) => {
                    Ok(Outcome::Broken { fault: net::read_fault(&error), have, validator: response.tag })
                }
                Err(Stop::Fault(fault)) => Err(fault),
            }
        }
        Source::File { path } => {
            let read_fault = |error: &io::Error| fault(&format!("cannot read {path}"), error);
            let file = File::open(path).map_err(|error| read_fault(&error))?;
            let copy = Copy::begin(&to, Hash::sha256()).map_err(|error| write_fault(&to, &error))?;
            match copy.run(file, &to, *max, cancel, progress) {
                Ok((bytes, sha256)) => Ok(Outcome::Fetched { bytes, sha256 }),
                Err(Stop::Source(error, _)) => Err(read_fault(&error)),
                Err(Stop::Fault(fault)) => Err(fault),
            }
        }
    }
}

fn write_fault(to: &Path, error: &io::Error) -> Fault {
    fault(&format!("cannot write {}", to.display()), error)
}
