//! What the machine asks of the world, and what the world answers. All plain data.

use crate::install::archive::{Arrangement, Limits, Member, Placement};
use crate::install::inventory::Found;
use crate::install::pip::Variable;
use crate::install::{Lease, Source};
use crate::machine::EffectId;
use crate::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One thing to do. Paths are relative to the runtime's own directory
/// (`$SUPERFLUID_HOME/runtimes/<id>/`) unless a field says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Make the runtime's directory where it lacks and take the lock file in it: `Locked`, or
    /// `Busy` where another process holds it and `wait` is not set.
    Lock {
        /// Wait for the other process.
        wait: bool,
    },
    /// Give the lock back.
    Unlock,
    /// Say what is in the runtime's directory: `Listing`.
    List,
    /// Make a new directory, 0755; its parent is there.
    MakeDir {
        /// The directory.
        path: String,
    },
    /// Remove whatever is at `path`, following no link; fine where nothing is.
    Remove {
        /// What to remove.
        path: String,
    },
    /// Copy the source to a new file and hash it on the way: `Fetched`, or `Broken` where the
    /// connection ended early. Fails where it has more than `max` bytes. Every hop of a URL is
    /// https. What an attempt before left at `to` is replaced, or with `resume` gone on with.
    Fetch {
        /// Name for progress and messages.
        name: String,
        /// Where from.
        source: Source,
        /// The new file.
        to: String,
        /// Most bytes taken.
        max: u64,
        /// Bytes expected, where known.
        size: Option<u64>,
        /// How long to wait before it is begun, in milliseconds.
        after_ms: u64,
        /// Where to go on, where the server allows it.
        resume: Option<Resume>,
        /// Longest wait for a connection, in milliseconds.
        connect_ms: u64,
        /// Longest wait for the next bytes, in milliseconds.
        stall_ms: u64,
    },
    /// Read a gzip-compressed tar archive to its very end, within `limits`: `Members`. Writes nothing.
    Survey {
        /// The archive.
        archive: String,
        /// Name for messages.
        name: String,
        /// What reading it may cost.
        limits: Limits,
    },
    /// Make the folders of an arrangement below `into`, 0755.
    MakeFolders {
        /// An existing directory.
        into: String,
        /// Parents first.
        dirs: Vec<String>,
    },
    /// Write an archive's files below `into`, each anew, through no link: 0755 or 0644.
    Unpack {
        /// The archive, as it was surveyed.
        archive: String,
        /// Name for messages.
        name: String,
        /// What reading it may cost.
        limits: Limits,
        /// An existing directory.
        into: String,
        /// In the archive's order.
        files: Vec<Placement>,
    },
    /// Make the hard links, then the symbolic links, of an arrangement below `into`.
    MakeLinks {
        /// An existing directory.
        into: String,
        /// What to make; its files and folders are there.
        links: Arrangement,
    },
    /// Copy a program into place, 0755.
    CopyProgram {
        /// An absolute path of this machine.
        from: String,
        /// The new file.
        to: String,
    },
    /// Run a staged program in the runtime's directory: `Ran`, whatever came of it. Its standard input
    /// is a pipe that nothing is written to and that ends when superfluid does.
    Run {
        /// The program.
        program: String,
        /// Its arguments. Relative paths among them are relative to the runtime's directory.
        args: Vec<String>,
        /// All it gets of an environment; see [`environment`](crate::install::pip::environment).
        env: Vec<Variable>,
        /// Longest run, in milliseconds; then it is killed.
        limit_ms: u64,
    },
    /// Run `<worker> check` without credential-named variables: `Ran`, whatever came of it.
    Check {
        /// The staged worker.
        worker: String,
        /// Longest run, in milliseconds; then it is killed.
        limit_ms: u64,
    },
    /// Hash every file below `path`, following no link: `Inventory`.
    Inventory {
        /// A directory.
        path: String,
    },
    /// Write a new text file, 0644.
    Write {
        /// The new file.
        path: String,
        /// What it holds.
        text: String,
    },
    /// Bring everything below `path` to the disk.
    SyncTree {
        /// A directory.
        path: String,
    },
    /// Bring the runtime's directory itself to the disk: the names in it.
    SyncNames,
    /// Rename, atomically; nothing is at `to`.
    Rename {
        /// What is there.
        from: String,
        /// Its new name.
        to: String,
    },
    /// Give each of two things the other's name, atomically; both are there. Fails as `Unsupported`
    /// where the system or the file system cannot.
    Exchange {
        /// One name.
        one: String,
        /// The other.
        other: String,
    },
    /// Make `link` a symbolic link to `target`, atomically replacing a link that is there.
    SetLink {
        /// The link.
        link: String,
        /// Relative to the runtime's directory.
        target: String,
    },
    /// Give a text file this content, atomically.
    SetFile {
        /// The file.
        path: String,
        /// What it holds.
        text: String,
    },
}

impl Action {
    /// Whether a failed attempt is certain to have changed nothing.
    pub const fn is_atomic(&self) -> bool {
        matches!(
            self,
            Self::Rename { .. } | Self::Exchange { .. } | Self::SetLink { .. } | Self::SetFile { .. }
        )
    }
}

/// Where a fetch goes on after a break.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Bytes that are there.
    pub have: u64,
    /// The server's tag of the file they are of (`If-Range`).
    pub validator: Option<String>,
}

/// An action, its id, and what takes it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Answer with this, once.
    pub id: EffectId,
    /// What to do.
    pub action: Action,
    /// What takes it back, where it changes files. The machine asks for it when it must.
    pub inverse: Option<Action>,
}

/// What an entry of a runtime's directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A directory.
    Dir,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// Anything else.
    Other,
}

/// An entry of a runtime's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is, without following a link.
    pub kind: EntryKind,
    /// Text of its `runtime.json`, where it is a directory with one of sane size.
    pub manifest: Option<String>,
    /// Whether it is a directory with the runtime's worker in `bin/`.
    pub worker: bool,
}

/// What is in a runtime's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Entries, by name.
    pub entries: Vec<Entry>,
    /// What `current` points to, where it is a link.
    pub current: Option<String>,
    /// What `pinned` says, where it is a file.
    pub pinned: Option<String>,
    /// The leases that are held.
    #[serde(default)]
    pub leases: Vec<Lease>,
    /// Names of leases that nobody holds any more.
    #[serde(default)]
    pub stale: Vec<String>,
}

/// What came of running a staged program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum Run {
    /// It could not be started.
    NotStarted(Fault),
    /// It ran past its limit and was killed.
    TimedOut {
        /// Last lines of what it said on stderr.
        stderr: String,
    },
    /// It ended by itself.
    Exited {
        /// Its exit status; `None` where a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// What it printed, bounded.
        stdout: String,
        /// Last lines of what it said on stderr.
        stderr: String,
    },
}

/// Kinds of the world's failures that decide what is said or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The disk or a quota is full.
    NoSpace,
    /// Not allowed.
    Permission,
    /// A program may not run where it lies: the file system is mounted noexec.
    NoExec,
    /// Not there.
    NotFound,
    /// A folder is where a file or a link belongs.
    Folder,
    /// A part of the path is no folder.
    NotFolder,
    /// The file system does not do this.
    Unsupported,
    /// The file system is read-only.
    ReadOnly,
    /// The host's certificate is not trusted.
    Certificate,
    /// The server answered with this status.
    Status(u16),
    /// Connection failed, broke or stalled.
    Network,
    /// A redirect led away from https.
    NotHttps,
    /// One redirect leads to the next.
    Redirects,
    /// More bytes than allowed.
    TooLarge,
    /// The archive is damaged or not acceptable.
    Archive,
    /// Anything else.
    Other,
}

/// A failure of the world: which kind, and what happened to which file or host, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What decides.
    pub kind: FaultKind,
    /// One sentence without a final period that names the file or host.
    pub message: String,
    /// How long the server asks to wait before it is asked again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Fault {
    /// A fault.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }

    /// The same with what the server's `Retry-After` says: a number of seconds, or nothing.
    #[must_use]
    pub fn after(mut self, retry_after: Option<&str>) -> Self {
        let seconds = retry_after.and_then(super::retry::retry_after);
        self.retry_after_ms = seconds.map(|seconds| seconds.saturating_mul(1000));
        self
    }

    /// The same as a refusal, with what to do next.
    pub fn refusal(&self) -> Refusal {
        super::failure::explain(self)
    }
}

/// The answer to an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum Outcome {
    /// It is done; for actions that bring nothing back.
    Done,
    /// The lock is ours.
    Locked,
    /// Another process holds the lock.
    Busy,
    /// What is there.
    Listing(Listing),
    /// The copy's size and digest.
    Fetched {
        /// Bytes.
        bytes: u64,
        /// Lower-case hex.
        sha256: String,
    },
    /// The connection ended early; what came is kept.
    Broken {
        /// Why.
        fault: Fault,
        /// Bytes that are there.
        have: u64,
        /// The server's `ETag`.
        validator: Option<String>,
    },
    /// What the archive holds, each judged alone.
    Members {
        /// In its order.
        members: Vec<Member>,
    },
    /// What came of the run.
    Ran(Run),
    /// What lies below the directory.
    Inventory {
        /// Its files and links.
        files: Vec<Found>,
    },
    /// It was not done.
    Failed(Fault),
}
