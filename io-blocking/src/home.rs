//! Where superfluid keeps its things on this machine.

use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::install::layout;
use superfluid_core::runtime::RuntimeId;

/// superfluid's home: `$SUPERFLUID_HOME`, else `~/.superfluid`. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// The home the environment names.
    pub fn from_env() -> Result<Self, Refusal> {
        if let Some(home) = std::env::var_os(layout::HOME_VARIABLE).filter(|home| !home.is_empty()) {
            return Self::at(home);
        }
        match std::env::home_dir().filter(|home| home.is_absolute()) {
            Some(user) => Self::at(user.join(layout::DEFAULT_HOME)),
            None => Err(Refusal::new(
                "no_home",
                "SUPERFLUID_HOME is not set, and HOME names no folder by an absolute path",
            )
            .hint("set SUPERFLUID_HOME to the folder superfluid may keep its runtimes in")),
        }
    }

    /// A home at this path; a relative one is taken from the current directory.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, Refusal> {
        let path = path.into();
        std::path::absolute(&path).map(Self).map_err(|error| {
            Refusal::new("no_home", format!("{} cannot be the home: {error}", path.display()))
        })
    }

    /// The home itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path below the home, as core's layout names it.
    pub fn join(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    /// A runtime's own directory.
    pub fn runtime(&self, id: RuntimeId) -> PathBuf {
        self.join(&layout::runtime(id))
    }
}
