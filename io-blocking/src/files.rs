//! Files and folders, never through a link.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use superfluid_core::install::machine::{Fault, FaultKind};

/// A directory whose insides are reached component by component, through no link.
pub(crate) struct Dir {
    path: PathBuf,
    fd: OwnedFd,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens an existing directory.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let fd = openat(CWD, &path, FOLDER, Mode::empty())?;
        Ok(Self { path, fd })
    }

    /// A path inside, for messages.
    pub(crate) fn show(&self, relative: &str) -> String {
        self.path.join(relative).display().to_string()
    }

    /// A new file, 0755 or 0644 whatever the umask.
    pub(crate) fn create(&self, relative: &str, executable: bool) -> io::Result<File> {
        let (parent, name) = self.parent(relative)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&parent, name, flags, Mode::from_raw_mode(0o600))?);
        let mode = if executable { 0o755 } else { 0o644 };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        Ok(file)
    }

    /// A new folder, 0755 whatever the umask.
    pub(crate) fn make_dir(&self, relative: &str) -> io::Result<()> {
        let (parent, name) = self.parent(relative)?;
        mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        let made = openat(&parent, name, FOLDER, Mode::empty())?;
        rustix::fs::fchmod(&made, Mode::from_raw_mode(0o755))?;
        Ok(())
    }

    /// A new symbolic link.
    pub(crate) fn symlink(&self, target: &str, relative: &str) -> io::Result<()> {
        let (parent, name) = self.parent(relative)?;
        Ok(symlinkat(target, &parent, name)?)
    }

    /// Another name for a file.
    pub(crate) fn hard_link(&self, target: &str, relative: &str) -> io::Result<()> {
        let (from, old) = self.parent(target)?;
        let (to, new) = self.parent(relative)?;
        Ok(rustix::fs::linkat(&from, old, &to, new, AtFlags::empty())?)
    }

    fn parent<'a>(&self, relative: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let mut at = self.fd.as_fd().try_clone_to_owned()?;
        let (folders, name) = relative.rsplit_once('/').map_or((None, relative), |(a, b)| (Some(a), b));
        for folder in folders.into_iter().flat_map(|folders| folders.split('/')) {
            at = openat(&at, folder, FOLDER, Mode::empty())?;
        }
        Ok((at, name))
    }
}

/// Removes whatever is there, following no link; fine where nothing is.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let kind = match path.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !kind.is_dir() {
        return std::fs::remove_file(path);
    }
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock_folders(path)?;
            std::fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Gives the owner every right to the folders below `path`, so that they can be removed.
fn unlock_folders(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unlock_folders(&entry.path())?;
        }
    }
    Ok(())
}

/// Brings every file and folder below `path` to the disk.
pub(crate) fn sync_tree(path: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_names(path)
}

/// Brings a folder's own names to the disk. A file system that cannot is not at fault.
pub(crate) fn sync_names(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// Renames where nothing is at `to`.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // The file system has no such flag; the lock keeps others away between the two calls.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        },
        Err(error) => Err(error.into()),
    }
}

/// Gives each of two things the other's name, atomically; `Unsupported` where that can't be.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(|error| match error {
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    })
}

/// An IO error as a fault: what was tried on which file, and the system's words.
pub(crate) fn fault(what: &str, error: &io::Error) -> Fault {
    use io::ErrorKind;
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FaultKind::NoSpace,
        ErrorKind::PermissionDenied => FaultKind::Permission,
        ErrorKind::ReadOnlyFilesystem => FaultKind::ReadOnly,
        ErrorKind::NotFound => FaultKind::NotFound,
        ErrorKind::IsADirectory => FaultKind::Folder,
        ErrorKind::NotADirectory => FaultKind::NotFolder,
        ErrorKind::Unsupported => FaultKind::Unsupported,
        _ => FaultKind::Other,
    };
    let words = match kind {
        FaultKind::NoSpace => "no space left on device".into(),
        FaultKind::Permission => "permission denied".into(),
        FaultKind::NotFound => "there is no such file".into(),
        FaultKind::ReadOnly => "the file system is read-only".into(),
        FaultKind::Folder => "it is a folder".into(),
        FaultKind::NotFolder => "a part of this path is a file, not a folder".into(),
        _ => error.to_string(),
    };
    Fault::new(kind, format!("{what}: {words}"))
}

/// Whether an error of a lock is that the file system has none.
pub(crate) fn lacks_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL))
}

/// The mount a path lies on, where the system tells.
pub(crate) fn mount_of(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    points.filter(|point| path.starts_with(point)).max_by_key(|point| point.as_os_str().len())
}

/// Whether programs on this path's file system may not run.
pub(crate) fn is_noexec(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}
