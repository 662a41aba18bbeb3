//! What superfluid's tests, benches and the two newcomer commands share.
//!
//! [`crashes`] kills workers under streams. [`things`] fetches the real runtimes, models and clients; [`daemon`] starts a daemon and
//! [`http`] talks to it byte for byte; [`gate`] checks the laws the compiler alone does not.

pub mod crashes;
pub mod daemon;
pub mod gate;
pub mod http;
pub mod things;

use std::path::{Path, PathBuf};

/// The root of the repository this was built from.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

/// Where everything fetched or made on the way is kept: `.cache` at the repository's root, which
/// git ignores, or the folder `SUPERFLUID_TEST_CACHE` names (several checkouts may share one).
pub fn cache() -> PathBuf {
    std::env::var_os("SUPERFLUID_TEST_CACHE").map_or_else(|| repository().join(".cache"), PathBuf::from)
}
