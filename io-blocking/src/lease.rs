//! Leases: files whose lock says that an install is in use. See core's `install::lease`.

use crate::Home;
use crate::files::{self, fault};
use crate::install::{nonce, read_text};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, openat};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::install::lease::LEASE_MAX;
use superfluid_core::install::{InstallName, Lease};
use superfluid_core::runtime::RuntimeId;

/// Holds an install in its place for as long as it lives.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// The lock; the system gives it up with the process.
    _file: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        // One that stays is swept by the next who changes something there.
        let _ = files::remove(&self.path);
    }
}

/// Takes a lease of `install` for this process, which does `what`. `None` where the home takes
/// none: it is read-only or somebody else's, or its file system has no locks; then nobody removes
/// anything there through it either.
///
/// # Errors
/// Where the install is not there, or was removed meanwhile.
pub fn hold(
    runtime: RuntimeId,
    install: &InstallName,
    what: &str,
    home: &Home,
) -> Result<Option<Held>, Refusal> {
    let dir = home.runtime(runtime);
    let lease = Lease { install: Some(install.clone()), pid: std::process::id(), what: what.into() };
    let mut tries = 0;
    let held = loop {
        tries += 1;
        match make(&dir, &lease.to_text()) {
            Ok(held) => break held,
            // Somebody swept it before it was in its place.
            Err(error) if error.kind() == ErrorKind::NotFound && dir.is_dir() && tries < 10 => {}
            Err(error) if error.kind() == ErrorKind::NotFound => break None,
            Err(error) if takes_none(&error) => break None,
            Err(error) => {
                let what = format!("cannot mark {install} as in use in {}", dir.display());
                return Err(fault(&what, &error).refusal());
            }
        }
    };
    if dir.join(install.as_str()).is_dir() {
        return Ok(held);
    }
    Err(Refusal::new("no_such_install", format!("the install {install} of {runtime} was removed")))
}

/// Made and locked under another name, so that nobody sees one that is not locked yet.
fn make(dir: &Path, text: &str) -> io::Result<Option<Held>> {
    let (name, new) = Lease::files(&nonce());
    let (path, new) = (dir.join(name), dir.join(new));
    let mut file = File::create_new(&new)?;
    let placed = file
        .try_lock()
        .map_err(|error| match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => ErrorKind::WouldBlock.into(),
        })
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&new, &path));
    match placed {
        Ok(()) => Ok(Some(Held { path, _file: file })),
        Err(error) => {
            let _ = files::remove(&new);
            Err(error)
        }
    }
}

fn takes_none(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
        || files::lacks_locks(error)
}

/// What a lease says, where somebody holds it.
pub(crate) fn look(path: &Path) -> Option<Lease> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return None,
        // Another user's, perhaps.
        Err(_) => return Some(Lease::parse("")),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => None,
        Err(_) => Some(Lease::parse(&read_text(path, LEASE_MAX).unwrap_or_default())),
    }
}
