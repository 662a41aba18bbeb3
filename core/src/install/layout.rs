//! Where things lie under the home (`$SUPERFLUID_HOME`, else `~/.superfluid`): every path as a
//! string relative to it, with `/` between parts.

use super::InstallName;
use crate::runtime::RuntimeId;
use alloc::format;
use alloc::string::String;

/// The variable that names the home.
pub const HOME_VARIABLE: &str = "SUPERFLUID_HOME";

/// The home's name in the user's own folder, where the variable is not set.
pub const DEFAULT_HOME: &str = ".superfluid";

/// The link to the default install, in a runtime's folder.
pub const CURRENT: &str = "current";

/// The file that holds the pinned install's name and a line feed, in a runtime's folder.
pub const PINNED: &str = "pinned";

/// The lock file, in a runtime's folder. Starts with a dot like everything that is no install.
pub const LOCK: &str = ".lock";

/// An install's manifest, in its folder.
pub const MANIFEST: &str = "runtime.json";

/// An install's libraries, in its folder.
pub const LIB: &str = "lib";

/// An install's programs, in its folder.
pub const BIN: &str = "bin";

/// The private Python of an install that has one, in its folder.
pub const PYTHON: &str = "python";

/// The packages of an install that has Python, in its folder: what its interpreter is given to
/// import from besides its own library.
pub const ENV: &str = "env";

/// The interpreter, in the folder of an install that has Python.
pub const INTERPRETER: &str = "python/bin/python3";

/// `runtimes/<id>`
pub fn runtime(id: RuntimeId) -> String {
    format!("runtimes/{id}")
}

/// `runtimes/<id>/<install>`
pub fn install(id: RuntimeId, name: &InstallName) -> String {
    format!("runtimes/{id}/{name}")
}

/// `runtimes/<id>/current`
pub fn current(id: RuntimeId) -> String {
    format!("runtimes/{id}/{CURRENT}")
}

/// `runtimes/<id>/pinned`
pub fn pinned(id: RuntimeId) -> String {
    format!("runtimes/{id}/{PINNED}")
}

/// `runtimes/<id>/.lock`
pub fn lock(id: RuntimeId) -> String {
    format!("runtimes/{id}/{LOCK}")
}

/// What the name of a staging directory begins with, in a runtime's folder.
pub const STAGE: &str = ".stage-";

/// What the name begins with under which something waits while another takes its place.
pub const ASIDE: &str = ".aside-";

/// What the name begins with under which a removed install waits to be deleted.
pub const TRASH: &str = ".trash-";

/// What the name of a lease begins with: who uses an install.
pub const LEASE: &str = ".lease-";

/// What the name of a link or file begins with that is about to replace another.
pub const NEW: &str = ".new-";

/// Whether a name in a runtime's folder is left from an install that ended early, and may be
/// swept by whoever holds the lock. Other names with a dot are somebody else's: a file manager's,
/// a file system's.
pub fn is_leftover(name: &str) -> bool {
    [STAGE, ASIDE, TRASH, NEW]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// `runtimes/<id>/<install>/runtime.json`
pub fn manifest(id: RuntimeId, name: &InstallName) -> String {
    format!("{}/{MANIFEST}", install(id, name))
}

/// `runtimes/<id>/<install>/lib`
pub fn lib(id: RuntimeId, name: &InstallName) -> String {
    format!("{}/{LIB}", install(id, name))
}

/// `runtimes/<id>/<install>/bin/superfluid-worker-<id>`
pub fn worker(id: RuntimeId, name: &InstallName) -> String {
    format!("{}/{BIN}/{}", install(id, name), id.worker())
}

/// The install a `pinned` file or a `current` link names: one plain name, perhaps with a line feed.
pub fn named(text: &str) -> Option<InstallName> {
    InstallName::new(text.trim_end_matches(['\n', '\r'])).ok()
}
