//! What is known of a machine, each fact with where it came from.

use super::DriverVersion;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// An operating system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Os {
    /// Linux of any distribution.
    Linux,
    /// macOS.
    Macos,
    /// Anything else, by the name its build carries.
    Other(String),
}

impl Os {
    /// From the name a Rust build carries (`std::env::consts::OS`).
    pub fn from_name(name: &str) -> Self {
        match name {
            "linux" => Self::Linux,
            "macos" => Self::Macos,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux => f.write_str("linux"),
            Self::Macos => f.write_str("macos"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// A processor architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86-64.
    X64,
    /// 64-bit Arm.
    Arm64,
    /// Anything else, by the name its build carries.
    Other(String),
}

impl Arch {
    /// From the name a Rust build carries (`std::env::consts::ARCH`) or `uname -m` prints.
    pub fn from_name(name: &str) -> Self {
        match name {
            "x86_64" | "amd64" => Self::X64,
            "aarch64" | "arm64" => Self::Arm64,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X64 => f.write_str("x64"),
            Self::Arm64 => f.write_str("arm64"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// What a probe found. Not finding out is a finding of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding<T> {
    /// It is so.
    Known(T),
    /// It is not there.
    Absent,
    /// The probe failed, timed out or answered nonsense: why.
    Unknown(String),
}

/// A finding and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact<T> {
    /// What was found.
    pub finding: Finding<T>,
    /// The file, command or key that said so.
    pub source: String,
}

impl<T> Fact<T> {
    /// It is so.
    pub fn known(value: T, source: impl Into<String>) -> Self {
        Self { finding: Finding::Known(value), source: source.into() }
    }

    /// It is not there.
    pub fn absent(source: impl Into<String>) -> Self {
        Self { finding: Finding::Absent, source: source.into() }
    }

    /// It could not be found out.
    pub fn unknown(why: impl Into<String>, source: impl Into<String>) -> Self {
        Self { finding: Finding::Unknown(why.into()), source: source.into() }
    }

    /// The value, where it is known.
    pub const fn value(&self) -> Option<&T> {
        match &self.finding {
            Finding::Known(value) => Some(value),
            Finding::Absent | Finding::Unknown(_) => None,
        }
    }
}

/// An NVIDIA kernel driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvidiaDriver {
    /// The kernel module's version.
    pub version: DriverVersion,
    /// Why it cannot be used now (a user-space driver of another version, no GPU), if it cannot.
    pub trouble: Option<String>,
}

/// Main memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Installed.
    pub total: u64,
    /// Available to a new program now, where the system says so.
    pub available: Option<u64>,
}

/// Everything install planning asks of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The operating system.
    pub os: Os,
    /// The hardware's architecture: under Rosetta that is arm64.
    pub arch: Fact<Arch>,
    /// The NVIDIA driver. A toolkit or a stub library is none.
    pub nvidia: Fact<NvidiaDriver>,
    /// CUDA majors whose runtime and BLAS the loader finds.
    pub cuda_runtimes: Fact<Vec<u32>>,
    /// ROCm: its kernel interface and its files.
    pub rocm: Fact<()>,
    /// A Vulkan loader and at least one driver manifest.
    pub vulkan: Fact<()>,
    /// Main memory.
    pub memory: Fact<Memory>,
}

impl HostFacts {
    /// Whether this is a Mac with Apple silicon.
    pub fn apple_silicon(&self) -> bool {
        self.os == Os::Macos && self.arch.value() == Some(&Arch::Arm64)
    }

    /// The platform as recipes write it, `linux-x64`; `None` when the architecture is unknown.
    pub fn platform(&self) -> Option<String> {
        self.arch.value().map(|arch| alloc::format!("{}-{arch}", self.os))
    }
}
