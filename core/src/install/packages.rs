//! The packages of a Python environment: wheels pinned by digest, and the index they come from.

use super::InstallName;
use super::check::{self, Sha256};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How a manifest writes [`Index::Default`].
const DEFAULT_INDEX: &str = "pip's default index";

/// One wheel. Its file name says which package it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wheel {
    /// `<package>-<version>-…-<platform>.whl`
    pub file: String,
    /// Bytes.
    pub size: u64,
    /// Lower-case hex, 64 digits.
    pub sha256: String,
}

impl Wheel {
    /// The package as its wheel spells it: `mlx_lm`.
    pub fn package(&self) -> &str {
        self.parts().0
    }

    /// The package's version.
    pub fn version(&self) -> &str {
        self.parts().1
    }

    /// Whether a file name is a wheel's.
    pub fn is_named(file: &str) -> bool {
        file.ends_with(".whl")
    }

    fn parts(&self) -> (&str, &str) {
        let mut parts = self.file.splitn(3, '-');
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }

    /// Checks what later stands on a line of a requirements file.
    pub fn validate(&self) -> Result<(), Refusal> {
        let bad = |what: &str| Err(Refusal::new("bad_wheel", format!("the wheel {:?} {what}", self.file)));
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
        let (package, version) = self.parts();
        if InstallName::new(&self.file).is_err() || !Self::is_named(&self.file) {
            return bad("has a name that is no wheel's");
        }
        if package.is_empty() || !package.bytes().all(plain) || check::version(version).is_err() {
            return bad("does not say which package and version it is");
        }
        if self.size == 0 {
            return bad("has no size");
        }
        if Sha256::parse(&self.sha256)?.as_str() != self.sha256 {
            return bad("has a SHA-256 that is not plain lower-case hex");
        }
        Ok(())
    }
}

/// Where pip looks for packages. Whatever it is, a wheel is taken only by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Index {
    /// pip's own default.
    Default,
    /// A package index.
    Url {
        /// Starts with `https://`.
        url: String,
    },
    /// A folder of wheels, or a package index as files; no other place is looked at.
    Folder {
        /// Absolute.
        path: String,
    },
}

impl Index {
    /// As a manifest and a person read it.
    pub fn words(&self) -> &str {
        match self {
            Self::Default => DEFAULT_INDEX,
            Self::Url { url } => url,
            Self::Folder { path } => path,
        }
    }

    /// Reads [`Self::words`] back.
    pub fn of_words(words: &str) -> Self {
        match words {
            DEFAULT_INDEX => Self::Default,
            url if url.starts_with("https://") => Self::Url { url: url.into() },
            path => Self::Folder { path: path.into() },
        }
    }
}

/// What pip is to put into an install's environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packages {
    /// Where they come from.
    pub index: Index,
    /// All of them: none brings in another.
    pub wheels: Vec<Wheel>,
}

impl Packages {
    /// The requirements file: a package, its version and its digest a line.
    pub fn requirements(&self) -> String {
        let line = |wheel: &Wheel| {
            format!("{}=={} --hash=sha256:{}\n", wheel.package(), wheel.version(), wheel.sha256)
        };
        self.wheels.iter().map(line).collect()
    }

    /// Bytes of all wheels.
    pub fn size(&self) -> u64 {
        self.wheels.iter().fold(0, |sum, wheel| sum.saturating_add(wheel.size))
    }
}
