//! Names of installs on disk: `<version>-<backend>`, checked before they meet a path.

use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// An install's directory name: letters, digits, `.`, `_`, `+`, `-`; starts with neither a dot nor
/// a dash, at most 100 bytes, and is none of the names the layout uses itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstallName(String);

impl InstallName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, Refusal> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-');
        let good = !name.is_empty()
            && name.len() <= 100
            && name.bytes().all(plain)
            && !name.starts_with(['.', '-'])
            && !matches!(name, "current" | "pinned");
        if good {
            return Ok(Self(name.into()));
        }
        Err(Refusal::new("bad_install_name", format!("{name:?} is not an install name"))
            .hint("an install is named <version>-<backend>, for example b11284-vulkan"))
    }

    /// The name of the install of `version` for `backend`.
    pub fn of(version: &str, backend: &str) -> Result<Self, Refusal> {
        Self::new(&format!("{version}-{backend}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for InstallName {
    type Error = Refusal;
    fn try_from(name: String) -> Result<Self, Refusal> {
        Self::new(&name)
    }
}

impl From<InstallName> for String {
    fn from(name: InstallName) -> Self {
        name.0
    }
}
