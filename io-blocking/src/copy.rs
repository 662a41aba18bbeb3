//! A file being written from a stream, and the hash of what is in it.

use crate::Cancel;
use crate::files::{self, fault};
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use superfluid_core::install::machine::{Fault, FaultKind, Resume};
use superfluid_core::pull;

/// Chunks of at most 64 KiB that wait to be written.
const WAITING: usize = 16;
/// How soon it is noticed that a copy is given up.
const NOTICE: Duration = Duration::from_millis(50);

/// Why a copy ended early.
pub(crate) enum Stop {
    /// The source ended or failed after so many bytes of the file were there.
    Source(io::Error, u64),
    /// Something else.
    Fault(Fault),
}

/// What a file is hashed as.
pub(crate) enum Hash {
    Sha256(Sha256),
    /// Git's name for a file.
    Git(Sha1),
}

impl Hash {
    pub(crate) fn sha256() -> Self {
        Self::Sha256(Sha256::new())
    }

    /// What a digest of a file of `size` bytes is made with.
    pub(crate) fn of(digest: &pull::Digest, size: u64) -> Self {
        match digest {
            pull::Digest::Sha256(_) => Self::sha256(),
            pull::Digest::Git(_) => Self::Git(Sha1::new_with_prefix(format!("blob {size}\0"))),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Git(hash) => hash.update(bytes),
        }
    }

    fn hex(self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sha256(hash) => hex(&hash.finalize()),
            Self::Git(hash) => hex(&hash.finalize()),
        }
    }
}

/// A file being written, and the hash of what is in it.
pub(crate) struct Copy {
    out: File,
    hash: Hash,
    bytes: u64,
}

impl Copy {
    /// A new file, in the place of whatever an attempt before left.
    pub(crate) fn begin(to: &Path, hash: Hash) -> io::Result<Self> {
        files::remove(to)?;
        Ok(Self { out: File::create_new(to)?, hash, bytes: 0 })
    }

    /// The file an attempt before left, cut to what it had.
    pub(crate) fn go_on(to: &Path, resume: &Resume, mut hash: Hash) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut out = File::from(openat(CWD, to, flags, Mode::empty())?);
        if out.metadata()?.len() < resume.have {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "it is shorter than it was"));
        }
        out.set_len(resume.have)?;
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

    /// Writes what comes, at most up to `max` bytes of the file; its size and hash then. The source
    /// is read beside the writing, so that a silent one can be given up too.
    pub(crate) fn run(
        mut self,
        from: impl Read + Send + 'static,
        to: &Path,
        max: u64,
        cancel: &Cancel,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(u64, String), Stop> {
        let (chunks, coming) = sync_channel(WAITING);
        std::thread::spawn(move || read(from, &chunks));
        loop {
            let chunk = match coming.recv_timeout(NOTICE) {
                _ if cancel.asked() => return Err(Stop::Fault(Cancel::fault())),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Ok(chunk)) => chunk,
                Ok(Err(error)) => return Err(Stop::Source(error, self.bytes)),
            };
            if self.bytes + chunk.len() as u64 > max {
                return Err(Stop::Fault(Fault::new(
                    FaultKind::TooLarge,
                    format!("it has more than the {max} bytes expected"),
                )));
            }
            let writing = |error| fault(&format!("cannot write {}", to.display()), &error);
            self.out.write_all(&chunk).map_err(|error| Stop::Fault(writing(error)))?;
            self.hash.update(&chunk);
            self.bytes += chunk.len() as u64;
            progress(self.bytes);
        }
        Ok(self.finish())
    }

    /// Its size and its hash in lower-case hex.
    pub(crate) fn finish(self) -> (u64, String) {
        (self.bytes, self.hash.hex())
    }
}

/// Reads to the end or the first error, for as long as somebody takes it.
fn read(mut from: impl Read, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let chunk = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer[..count].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let last = chunk.is_err();
        if chunks.send(chunk).is_err() || last {
            return;
        }
    }
}
