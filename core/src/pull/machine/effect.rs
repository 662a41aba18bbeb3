//! What a pull asks of the world, and what the world answers. All plain data; the user's token is
//! in none of it.

use crate::install::machine::{Fault, Resume};
use crate::machine::EffectId;
use crate::pull::Digest;
use crate::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One thing to do. Paths are relative to the cache's root; folders a path needs are made.
///
/// Addresses are asked with the user's token where [`Endpoint::trusts`](crate::pull::Endpoint::trusts)
/// them, and redirects lead where [`hop`](crate::pull::hop) says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Take the lock file: `Locked`, or `Busy` where another process holds it and `wait` is not set.
    Lock {
        /// The file.
        path: String,
        /// Wait for the other process.
        wait: bool,
    },
    /// Give the lock back.
    Unlock,
    /// Ask the hub: `Answered`, whatever its status, with a body of at most `max` bytes.
    Ask {
        /// The address.
        url: String,
        /// Most bytes taken.
        max: u64,
        /// How long to wait before, in milliseconds.
        after_ms: u64,
        /// Longest wait for a connection, in milliseconds.
        connect_ms: u64,
        /// Longest wait for the next bytes, in milliseconds.
        stall_ms: u64,
    },
    /// Say what of these blobs is there, and how much room there is: `Looked`.
    Look {
        /// Each blob's path, and that of what has come of it.
        blobs: Vec<(String, String)>,
    },
    /// Fetch a file, hashing all of it: `Fetched`, `Broken` where the connection ended early, or
    /// `Answered` where the status is no success. Where all of it is there already, hash it alone.
    Fetch {
        /// Name for progress and messages.
        name: String,
        /// The address.
        url: String,
        /// The file, which holds `resume.have` bytes or is begun anew.
        to: String,
        /// The lock that the hub's own tools take for it.
        lock: String,
        /// Bytes it has.
        size: u64,
        /// What to hash it as; the hash itself is compared here.
        digest: Digest,
        /// Where to go on.
        resume: Option<Resume>,
        /// How long to wait before, in milliseconds.
        after_ms: u64,
        /// Longest wait for a connection, in milliseconds.
        connect_ms: u64,
        /// Longest wait for the next bytes, in milliseconds.
        stall_ms: u64,
    },
    /// Bring a file to the disk and rename it, replacing what is there.
    Keep {
        /// What is there.
        from: String,
        /// Its new name.
        to: String,
    },
    /// Remove a file; fine where nothing is.
    Discard {
        /// The file.
        path: String,
    },
    /// Make a symbolic link, replacing a file or link that is there.
    Link {
        /// The link.
        path: String,
        /// Its text.
        target: String,
    },
    /// Give a text file this content, atomically.
    Write {
        /// The file.
        path: String,
        /// What it holds.
        text: String,
    },
}

/// An action and its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Answer with this, once.
    pub id: EffectId,
    /// What to do.
    pub action: Action,
}

/// What the hub answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// `Retry-After`, where it is a number of seconds.
    pub retry_after_s: Option<u64>,
    /// `X-Error-Code`
    pub code: Option<String>,
    /// The body as text, or nothing where it is none.
    pub body: String,
}

/// What is there of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Bytes of the blob.
    pub whole: Option<u64>,
    /// Bytes that have come.
    pub partial: Option<u64>,
}

/// The answer to an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum Outcome {
    /// It is done.
    Done,
    /// The lock is ours.
    Locked,
    /// Another process holds the lock.
    Busy,
    /// What the hub said.
    Answered(Answer),
    /// What is there.
    Looked {
        /// In the order asked.
        places: Vec<Place>,
        /// Bytes free where the cache is, if that is known.
        free: Option<u64>,
    },
    /// The file is there.
    Fetched {
        /// Bytes.
        bytes: u64,
        /// Its hash, lower-case hex.
        hash: String,
    },
    /// The connection ended early; what came is kept.
    Broken {
        /// Why.
        fault: Fault,
        /// Bytes that are there.
        have: u64,
    },
    /// It was not done.
    Failed(Fault),
}

/// Something worth telling. Events decide nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Another process pulls this model; we wait for it.
    Waiting,
    /// The hub has been asked.
    Listed {
        /// The model.
        model: String,
        /// Its commit.
        commit: String,
        /// Files it is made of.
        files: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A file is there already.
    Present {
        /// Its path.
        name: String,
    },
    /// A fetch begins.
    Fetching {
        /// The file.
        name: String,
        /// Bytes.
        size: u64,
        /// Bytes that are there from an earlier pull.
        have: u64,
        /// Where from.
        from: String,
    },
    /// A request failed and is made again.
    Retrying {
        /// What for.
        name: String,
        /// Why it failed.
        why: String,
        /// The wait before, in milliseconds.
        after_ms: u64,
        /// Bytes that are there and need not come again.
        have: u64,
    },
    /// So much of the present fetch is done.
    Progress {
        /// Bytes.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// A file has the digest it was to have.
    Verified {
        /// Its path.
        name: String,
        /// Lower-case hex.
        digest: String,
    },
    /// The model is there.
    Finished(Pulled),
    /// It is not; what came is kept for the next time.
    Failed(Refusal),
}

/// What a pull brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulled {
    /// The model's id.
    pub model: String,
    /// Its commit.
    pub commit: String,
    /// What a runtime is given, relative to the cache's root.
    pub path: String,
    /// Its files, as the repository names them.
    pub files: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that had to be fetched.
    pub fetched: u64,
}
