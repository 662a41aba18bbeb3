//! Gzip-compressed tar archives, read front to back in bounded memory.
//!
//! Header fields are read by the `tar` crate; the walk over blocks is our own, since whole-ness is
//! judged here: both end blocks, every gzip member's checksum, and nothing but NUL after the end.

mod gzip;
mod walk;
mod write;

pub(crate) use walk::survey;
pub(crate) use write::unpack;

use std::io;
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Fault, FaultKind};

/// Why reading an archive ended early.
pub(crate) enum Trouble {
    /// The archive is at fault.
    Bad(String),
    /// This machine is at fault.
    Io(String, io::Error),
}

impl Trouble {
    /// The fault, with the archive's name in front.
    pub(crate) fn into_fault(self, archive: &str) -> Fault {
        match self {
            Self::Bad(what) => Fault::new(FaultKind::Archive, format!("{archive}: {what}")),
            Self::Io(what, error) => crate::files::fault(&what, &error),
        }
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Bad(refusal.message)
    }
}

/// An error of the decompressed stream: damage, unless the disk under it failed.
fn stream_error(error: &io::Error) -> Trouble {
    Trouble::Bad(match error.kind() {
        io::ErrorKind::UnexpectedEof => "the archive ends early".into(),
        _ => format!("the archive is damaged: {error}"),
    })
}
