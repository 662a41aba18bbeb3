//! Every file of an install, hashed.

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use superfluid_core::install::inventory::{Content, Found};

/// Files and links below `root`, following none. What cannot be read says so itself; `root` must.
pub(crate) fn take(root: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(folder: &Path, below: &str, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if let Err(error) = walk(&entry.path(), &format!("{path}/"), found) {
                found.push(Found { path, content: Err(unreadable(&error)) });
            }
            continue;
        }
        found.push(Found { path, content: content(&entry.path(), kind) });
    }
    Ok(())
}

fn content(path: &Path, kind: FileType) -> Result<Content, String> {
    if kind.is_symlink() {
        let target = std::fs::read_link(path).map_err(|error| unreadable(&error))?;
        return Ok(Content::Link { link: target.to_string_lossy().into_owned() });
    }
    if !kind.is_file() {
        return Err("is neither file, folder nor link".into());
    }
    hash(path).map_err(|error| unreadable(&error))
}

fn hash(path: &Path) -> io::Result<Content> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let executable = file.metadata()?.permissions().mode() & 0o100 != 0;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Content::File { size, sha256: hex(hash), executable })
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// A finished hash as lower-case hex.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
