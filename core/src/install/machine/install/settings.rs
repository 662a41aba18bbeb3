//! What an install takes besides its plans.

use alloc::string::String;

/// What an install takes besides its plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Makes temporary names unique: a process id and something random; letters, digits, dashes.
    pub nonce: String,
    /// The adapter beside superfluid, an absolute path, for archives without a worker.
    pub adapter: Option<String>,
    /// This superfluid's version, for the manifest.
    pub superfluid: String,
    /// Seconds since 1970, for the manifest.
    pub installed_at: u64,
    /// What the install is for.
    pub purpose: Purpose,
}

/// What an install is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// An install beside the others; nothing is done where the same one is there.
    #[default]
    Install,
    /// A newer one that becomes the default. A pin moves to it.
    Update,
    /// The same install again, even where it is there and whole.
    Repair,
}
