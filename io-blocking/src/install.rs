//! Carries out what core's install machine asks, in one runtime's directory.

use crate::archive::{self, Trouble};
use crate::files::{self, Dir, fault};
use crate::{Cancel, fetch, inventory, lease, staged};
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use superfluid_core::install::archive::Shape;
use superfluid_core::install::layout;
use superfluid_core::install::machine::{
    self, Action, Entry, EntryKind, Event, Fault, FaultKind, Finished, Listing, Machine, Outcome,
};
use superfluid_core::machine::EffectId;
use superfluid_core::runtime::RuntimeId;
use superfluid_core::{Instant, Refusal};

/// Hears what happens.
pub trait Reporter {
    /// Something worth telling.
    fn event(&mut self, event: &Event);

    /// What gives the request up; nothing does unless this is told.
    fn cancel(&self) -> Cancel {
        Cancel::default()
    }
}

/// Drives a request to its end in `dir`, the runtime's own directory.
pub fn run(
    machine: &mut Machine,
    runtime: RuntimeId,
    dir: &Path,
    reporter: &mut dyn Reporter,
) -> Result<Finished, Refusal> {
    let started = std::time::Instant::now();
    let cancel = reporter.cancel();
    let mut installer = Installer::new(runtime, dir, cancel.clone());
    loop {
        while let Some(event) = machine.poll_event() {
            reporter.event(&event);
        }
        let Some(effect) = machine.poll_effect() else { break };
        let outcome = installer.perform(&effect.action, &mut |bytes| {
            progress(machine, effect.id, bytes, now(started));
            while let Some(event) = machine.poll_event() {
                reporter.event(&event);
            }
        });
        if cancel.asked() {
            machine.cancel();
        }
        machine.handle_done(effect.id, outcome, now(started)).map_err(|misuse| {
            Refusal::new("internal", format!("the installer was driven wrongly: {misuse}"))
        })?;
    }
    match machine.result() {
        Some(result) => result.clone(),
        None => Err(Refusal::new("internal", "the installer stopped before its end")),
    }
}

/// What is in a runtime's directory; empty where there is none. Takes no lock and changes nothing,
/// unless an install has to be put back that a run which was ended had set aside.
pub fn look(runtime: RuntimeId, dir: &Path) -> Result<Listing, Refusal> {
    let listing = read(runtime, dir)?;
    if !machine::is_torn(&listing) {
        return Ok(listing);
    }
    run(&mut Machine::mend(), runtime, dir, &mut Unheard)?;
    read(runtime, dir)
}

/// Nobody hears what happens.
struct Unheard;

impl Reporter for Unheard {
    fn event(&mut self, _: &Event) {}
}

fn read(runtime: RuntimeId, dir: &Path) -> Result<Listing, Refusal> {
    list(runtime, dir).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(Listing::default()),
        _ => Err(fault(&format!("cannot read {}", dir.display()), &error).refusal()),
    })
}

/// Unique among what lives on this machine: a process id and the time.
pub fn nonce() -> String {
    let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos());
    format!("{}-{nanos:x}", std::process::id())
}

fn now(started: std::time::Instant) -> Instant {
    Instant::from_nanos(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn progress(machine: &mut Machine, id: EffectId, bytes: u64, now: Instant) {
    // The effect is in flight while it is performed, so there is nothing to misuse.
    let _ = machine.handle_progress(id, bytes, now);
}

/// Carries out one effect after the other, in one runtime's directory.
#[derive(Debug)]
pub struct Installer {
    runtime: RuntimeId,
    dir: PathBuf,
    cancel: Cancel,
    lock: Option<File>,
}

impl Installer {
    /// For `dir`, the runtime's own directory. What takes long ends early once `cancel` says so.
    pub fn new(runtime: RuntimeId, dir: &Path, cancel: Cancel) -> Self {
        Self { runtime, dir: dir.to_path_buf(), cancel, lock: None }
    }

    /// Carries one out and says what came of it; blocks for as long as that takes.
    pub fn perform(&mut self, action: &Action, progress: &mut dyn FnMut(u64)) -> Outcome {
        self.attempt(action, progress).unwrap_or_else(Outcome::Failed)
    }

    fn attempt(&mut self, action: &Action, progress: &mut dyn FnMut(u64)) -> Result<Outcome, Fault> {
        let done = |result: io::Result<()>, what: &str, path: &str| match result {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => Err(fault(&format!("cannot {what} {}", self.at(path).display()), &error)),
        };
        match action {
            Action::Lock { wait } => self.take_lock(*wait),
            Action::Unlock => {
                self.lock = None;
                Ok(Outcome::Done)
            }
            Action::List => list(self.runtime, &self.dir)
                .map(Outcome::Listing)
                .map_err(|error| fault(&format!("cannot read {}", self.dir.display()), &error)),
            Action::MakeDir { path } => {
                let made = std::fs::create_dir(self.at(path)).and_then(|()| {
                    std::fs::set_permissions(self.at(path), std::fs::Permissions::from_mode(0o755))
                });
                done(made, "make the folder", path)
            }
            Action::Remove { path } => done(files::remove(&self.at(path)), "remove", path),
            Action::Fetch { .. } => fetch::perform(action, &self.dir, &self.cancel, progress),
            Action::Survey { archive, name, limits } => {
                let members = archive::survey(self.open(archive)?, *limits);
                members
                    .map(|members| Outcome::Members { members })
                    .map_err(|trouble| trouble.into_fault(name))
            }
            Action::MakeFolders { into, dirs } => {
                let root = self.folder(into)?;
                for dir in dirs {
                    done(root.make_dir(dir), "make the folder", &format!("{into}/{dir}"))?;
                }
                Ok(Outcome::Done)
            }
            Action::Unpack { archive, name, limits, into, files } => {
                let unpacked = archive::unpack(self.open(archive)?, *limits, &self.folder(into)?, files);
                unpacked.map(|()| Outcome::Done).map_err(|trouble: Trouble| trouble.into_fault(name))
            }
            Action::MakeLinks { into, links } => {
                let root = self.folder(into)?;
                for link in &links.hard {
                    let made = root.hard_link(&link.target, &link.path);
                    done(made, "make the hard link", &format!("{into}/{}", link.path))?;
                }
                for link in &links.links {
                    let made = root.symlink(&link.target, &link.path);
                    done(made, "make the link", &format!("{into}/{}", link.path))?;
                }
                Ok(Outcome::Done)
            }
            Action::CopyProgram { from, to } => self.copy_program(Path::new(from), to),
            Action::Check { worker, limit_ms } => {
                Ok(Outcome::Ran(staged::check(&self.at(worker), *limit_ms, &self.cancel)))
            }
            Action::Run { program, args, env, limit_ms } => {
                let program = self.at(program);
                Ok(Outcome::Ran(staged::run(&program, &self.dir, args, env, *limit_ms, &self.cancel)))
            }
            Action::Inventory { path } => inventory::take(&self.at(path))
                .map(|files| Outcome::Inventory { files })
                .map_err(|error| fault(&format!("cannot read {}", self.at(path).display()), &error)),
            Action::Write { path, text } => done(write_new(&self.at(path), text), "write", path),
            Action::SyncTree { path } => done(files::sync_tree(&self.at(path)), "bring to the disk", path),
            Action::SyncNames => done(files::sync_names(&self.dir), "bring to the disk", "."),
            Action::Rename { from, to } => {
                done(files::rename_new(&self.at(from), &self.at(to)), &format!("rename {from} to"), to)
            }
            Action::Exchange { one, other } => {
                done(files::exchange(&self.at(one), &self.at(other)), &format!("exchange {one} and"), other)
            }
            Action::SetLink { link, target } => {
                let made = self.replace(link, |temporary| std::os::unix::fs::symlink(target, temporary));
                done(made, "set the link", link)
            }
            Action::SetFile { path, text } => {
                let made = self.replace(path, |temporary| {
                    write_new(temporary, text)?;
                    File::open(temporary)?.sync_all()
                });
                done(made, "write", path)
            }
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    fn open(&self, path: &str) -> Result<File, Fault> {
        File::open(self.at(path))
            .map_err(|error| fault(&format!("cannot read {}", self.at(path).display()), &error))
    }

    fn folder(&self, path: &str) -> Result<Dir, Fault> {
        Dir::open(self.at(path))
            .map_err(|error| fault(&format!("cannot open {}", self.at(path).display()), &error))
    }

    /// Makes something new beside `path`, then puts it in its place.
    fn replace(&self, path: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let temporary = self.at(&format!("{}{path}", layout::NEW));
        files::remove(&temporary)?;
        make(&temporary)?;
        std::fs::rename(&temporary, self.at(path)).inspect_err(|_| {
            // The rename's own error is the one to tell.
            let _ = files::remove(&temporary);
        })
    }

    fn take_lock(&mut self, wait: bool) -> Result<Outcome, Fault> {
        let path = self.at(layout::LOCK);
        let lock_fault = |error: &io::Error| {
            let mut fault = fault(&format!("cannot lock {}", path.display()), error);
            if files::lacks_locks(error) {
                fault.kind = FaultKind::Unsupported;
            }
            fault
        };
        std::fs::create_dir_all(&self.dir).map_err(|error| {
            let what = format!("cannot make the folder {}", self.dir.display());
            match error.kind() {
                // Not a folder, or it would be taken.
                ErrorKind::AlreadyExists => Fault::new(
                    FaultKind::NotFolder,
                    format!("{what}: a file or a link that leads nowhere is on the way"),
                ),
                _ => fault(&what, &error),
            }
        })?;
        let opened = rustix::fs::open(
            &path,
            OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            rustix::fs::Mode::from_raw_mode(0o644),
        );
        let file = File::from(opened.map_err(|error| lock_fault(&error.into()))?);
        let attempt = || match file.try_lock() {
            Ok(()) => Some(Ok(Outcome::Locked)),
            Err(TryLockError::WouldBlock) if wait => None,
            Err(TryLockError::WouldBlock) => Some(Ok(Outcome::Busy)),
            Err(TryLockError::Error(error)) => Some(Err(lock_fault(&error))),
        };
        let taken = self.cancel.until(attempt).unwrap_or_else(|| Err(Cancel::fault()))?;
        self.lock = (taken == Outcome::Locked).then_some(file);
        Ok(taken)
    }

    fn copy_program(&self, from: &Path, to: &str) -> Result<Outcome, Fault> {
        let mut source = File::open(from)
            .map_err(|error| fault(&format!("cannot read the adapter {}", from.display()), &error))?;
        let target = self.at(to);
        let copied = File::create_new(&target).and_then(|mut file| {
            io::copy(&mut source, &mut file)?;
            file.set_permissions(std::fs::Permissions::from_mode(0o755))
        });
        match copied {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => Err(fault(&format!("cannot write {}", target.display()), &error)),
        }
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// Longest manifest that is read.
const MANIFEST_MAX: u64 = 16 << 20;

fn list(runtime: RuntimeId, dir: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let worker = Shape::of(runtime.as_str()).worker();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // A name that is not UTF-8 is no install's, nor anything of ours.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        let path = entry.path();
        let kind = match kind {
            kind if kind.is_dir() => EntryKind::Dir,
            kind if kind.is_symlink() => EntryKind::Symlink,
            _ => EntryKind::Other,
        };
        match (kind, name.as_str()) {
            (EntryKind::Symlink, layout::CURRENT) => {
                listing.current = std::fs::read_link(&path)?.to_str().map(String::from);
            }
            (EntryKind::Other, layout::PINNED) => listing.pinned = read_text(&path, 4 << 10),
            (EntryKind::Other, file) if file.starts_with(layout::LEASE) => match lease::look(&path) {
                Some(lease) => listing.leases.push(lease),
                None => listing.stale.push(name.clone()),
            },
            _ => {}
        }
        let install = kind == EntryKind::Dir && !name.starts_with('.');
        listing.entries.push(Entry {
            manifest: install.then(|| read_text(&path.join(layout::MANIFEST), MANIFEST_MAX)).flatten(),
            worker: install && path.join(&worker).is_file(),
            name,
            kind,
        });
    }
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    listing.leases.sort_by(|a, b| (a.pid, &a.what).cmp(&(b.pid, &b.what)));
    listing.stale.sort();
    Ok(listing)
}

/// A small text file, or nothing.
pub(crate) fn read_text(path: &Path, most: u64) -> Option<String> {
    let mut text = String::new();
    // Opening a FIFO would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}
