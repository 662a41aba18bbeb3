//! What the machine tells, for people and for logs. Events decide nothing.

use crate::capability::CheckReport;
use crate::install::InstallName;
use crate::refusal::Refusal;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Another process is at work in this runtime's directory; we wait for it.
    Waiting,
    /// What a dead run left has been found and goes.
    Swept {
        /// Its name.
        entry: String,
    },
    /// An install that a dead run had set aside goes back to its place.
    Restored {
        /// Its name.
        name: String,
    },
    /// A plan is begun.
    Planned {
        /// The install it makes.
        name: InstallName,
        /// Why it is tried.
        reason: String,
    },
    /// A fetch begins.
    Fetching {
        /// The asset.
        name: String,
        /// Bytes, where known.
        size: Option<u64>,
        /// Where from.
        from: String,
    },
    /// A fetch broke and is tried again.
    Retrying {
        /// The asset.
        name: String,
        /// Why it broke.
        why: String,
        /// The wait before, in milliseconds.
        after_ms: u64,
        /// Bytes that are there and need not come again, if the server agrees.
        have: u64,
    },
    /// So much of the present fetch is done.
    Progress {
        /// Bytes.
        done: u64,
        /// Bytes, where known.
        total: Option<u64>,
    },
    /// An asset has the digest it was to have.
    Verified {
        /// The asset.
        name: String,
        /// Lower-case hex.
        sha256: String,
    },
    /// Files are being written.
    Unpacking {
        /// The asset.
        name: String,
        /// How many.
        files: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// pip fetches, verifies and unpacks an environment's packages.
    Packages {
        /// How many.
        count: u64,
        /// Bytes of their wheels.
        bytes: u64,
        /// Which index they come from.
        from: String,
    },
    /// The staged worker looks for devices.
    Checking,
    /// This plan's backend has no device here; the next plan is tried.
    NextPlan {
        /// The plan given up.
        given_up: InstallName,
        /// Why.
        reason: String,
        /// The plan that is next.
        next: InstallName,
    },
    /// Something is not as it should be, and the work goes on.
    Warning(Refusal),
    /// The request is done.
    Finished(Finished),
    /// The request failed, and what it had done is undone.
    Failed(Refusal),
}

/// What a request brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The install that is there now, for an install request.
    pub installed: Option<InstallName>,
    /// Whether it was there already, from the same archives.
    pub already: bool,
    /// Installs that are gone.
    pub removed: Vec<InstallName>,
    /// The default install now.
    pub current: Option<InstallName>,
    /// Whether the default is pinned.
    pub pinned: bool,
    /// What the worker's check said, where it ran.
    pub report: Option<CheckReport>,
}
