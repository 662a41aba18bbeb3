//! Carries out what core's pull machine asks, in the cache that the hub's own tools share.

mod cached;
mod place;
mod transfer;

pub use cached::cached;
pub use place::{Hub, Token};

use crate::files::fault;
use crate::{Cancel, files};
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use superfluid_core::install::machine::{Fault, FaultKind};
use superfluid_core::machine::EffectId;
use superfluid_core::pull::{Action, Event, Machine, ModelId, Outcome, Place, Pulled, Revision, Settings};
use superfluid_core::runtime::format::Format;
use superfluid_core::{Instant, Refusal};

/// Hears what happens.
pub trait Reporter {
    /// Something worth telling.
    fn event(&mut self, event: &Event);
}

/// Pulls a model; where it lies then.
pub fn pull(
    id: &ModelId,
    revision: &Revision,
    format: Format,
    hub: &Hub,
    cancel: &Cancel,
    reporter: &mut dyn Reporter,
) -> Result<(Pulled, PathBuf), Refusal> {
    let settings = Settings { endpoint: hub.endpoint.clone(), token: hub.token.is_some() };
    let mut machine = Machine::new(id.clone(), revision.clone(), format, settings);
    let pulled = run(&mut machine, hub, cancel, reporter)?;
    let path = hub.cache.join(&pulled.path);
    Ok((pulled, path))
}

/// Drives a pull to its end.
pub fn run(
    machine: &mut Machine,
    hub: &Hub,
    cancel: &Cancel,
    reporter: &mut dyn Reporter,
) -> Result<Pulled, Refusal> {
    let started = std::time::Instant::now();
    let now = || Instant::from_nanos(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut puller = Puller { hub, cancel, lock: None };
    loop {
        while let Some(event) = machine.poll_event() {
            reporter.event(&event);
        }
        let Some(effect) = machine.poll_effect() else { break };
        let outcome = puller.perform(&effect.action, &mut |bytes| {
            progress(machine, effect.id, bytes, now());
            while let Some(event) = machine.poll_event() {
                reporter.event(&event);
            }
        });
        if cancel.asked() {
            machine.cancel();
        }
        machine
            .handle_done(effect.id, outcome, now())
            .map_err(|misuse| Refusal::new("internal", format!("the pull was driven wrongly: {misuse}")))?;
    }
    match machine.result() {
        Some(result) => result.clone(),
        None => Err(Refusal::new("internal", "the pull stopped before its end")),
    }
}

fn progress(machine: &mut Machine, id: EffectId, bytes: u64, now: Instant) {
    // The effect is in flight while it is performed, so there is nothing to misuse.
    let _ = machine.handle_progress(id, bytes, now);
}

/// Carries out one effect after the other.
struct Puller<'a> {
    hub: &'a Hub,
    cancel: &'a Cancel,
    lock: Option<File>,
}

impl Puller<'_> {
    fn perform(&mut self, action: &Action, progress: &mut dyn FnMut(u64)) -> Outcome {
        self.attempt(action, progress).unwrap_or_else(Outcome::Failed)
    }

    fn attempt(&mut self, action: &Action, progress: &mut dyn FnMut(u64)) -> Result<Outcome, Fault> {
        let done = |result: io::Result<()>, what: &str, path: &str| match result {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => Err(fault(&format!("cannot {what} {}", self.at(path).display()), &error)),
        };
        match action {
            Action::Lock { path, wait } => {
                self.lock = lock(&self.at(path), *wait, self.cancel)?;
                Ok(if self.lock.is_some() { Outcome::Locked } else { Outcome::Busy })
            }
            Action::Unlock => {
                self.lock = None;
                Ok(Outcome::Done)
            }
            Action::Ask { .. } => transfer::ask(action, self.hub, self.cancel),
            Action::Look { blobs } => {
                let size = |path: &String| {
                    self.at(path).symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len())
                };
                let place = |(whole, partial): &(String, String)| Place {
                    whole: size(whole),
                    partial: size(partial),
                };
                let places = blobs.iter().map(place).collect();
                Ok(Outcome::Looked { places, free: free(&self.hub.cache) })
            }
            Action::Fetch { to, lock: name, .. } => {
                let to = self.at(to);
                parent(&to)
                    .map_err(|error| fault(&format!("cannot make the folder of {}", to.display()), &error))?;
                // Held until the blob has come; the hub's own tools wait for it as we do for them.
                let _held = lock(&self.at(name), true, self.cancel)?;
                transfer::fetch(action, self.hub, &to, self.cancel, progress)
            }
            Action::Keep { from, to } => {
                let kept = File::open(self.at(from)).and_then(|file| {
                    file.sync_all()?;
                    std::fs::rename(self.at(from), self.at(to))?;
                    files::sync_names(self.at(to).parent().unwrap_or(&self.hub.cache))
                });
                done(kept, "put in its place", to)
            }
            Action::Discard { path } => done(files::remove(&self.at(path)), "remove", path),
            Action::Link { path, target } => {
                let linked = replace(&self.at(path), |new| std::os::unix::fs::symlink(target, new));
                done(linked, "make the link", path)
            }
            Action::Write { path, text } => {
                let written = replace(&self.at(path), |new| {
                    let mut file = File::create_new(new)?;
                    file.write_all(text.as_bytes())?;
                    file.sync_all()
                });
                done(written, "write", path)
            }
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.hub.cache.join(path)
    }
}

fn parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

/// Makes something new beside `path`, then puts it in its place; nothing where it is that already.
fn replace(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    parent(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{}.{name}", crate::install::nonce()));
    make(&new)?;
    std::fs::rename(&new, path).inspect_err(|_| {
        // The rename's own error is the one to tell.
        let _ = files::remove(&new);
    })
}

/// Takes a lock file; `None` where another process holds it and this one is not to wait.
fn lock(path: &Path, wait: bool, cancel: &Cancel) -> Result<Option<File>, Fault> {
    let told = |error: &io::Error| {
        let mut fault = fault(&format!("cannot lock {}", path.display()), error);
        if files::lacks_locks(error) {
            fault.kind = FaultKind::Unsupported;
        }
        fault
    };
    parent(path).map_err(|error| told(&error))?;
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o644));
    let file = File::from(opened.map_err(|error| told(&error.into()))?);
    let attempt = || match file.try_lock() {
        Ok(()) => Some(Ok(true)),
        Err(TryLockError::WouldBlock) if wait => None,
        Err(TryLockError::WouldBlock) => Some(Ok(false)),
        Err(TryLockError::Error(error)) => Some(Err(told(&error))),
    };
    match cancel.until(attempt) {
        Some(Ok(true)) => Ok(Some(file)),
        Some(Ok(false)) => Ok(None),
        Some(Err(fault)) => Err(fault),
        None => Err(Cancel::fault()),
    }
}

/// Bytes that this user may still write where the cache is or will be.
fn free(cache: &Path) -> Option<u64> {
    let there = cache.ancestors().find(|path| path.is_dir())?;
    let fs = rustix::fs::statvfs(there).ok()?;
    fs.f_bavail.checked_mul(fs.f_frsize)
}

/// A path in a snapshot, `/` between its parts, or nothing where it is not plain text.
fn relative(path: &Path) -> Option<String> {
    let parts = path.components().map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}

/// Whether an error is that of nothing there.
fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
