//! The questions a driver puts to the machine, and what it may answer.

use super::{Arch, Os};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One question; carrying it out changes nothing on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "probe", rename_all = "snake_case")]
pub enum Probe {
    /// Read a file from its start, at most `max_bytes`; what is not UTF-8 is replaced.
    ReadFile {
        /// Absolute path.
        path: String,
        /// Bytes to read at most.
        max_bytes: u64,
    },
    /// List the names in a folder that start with one of `prefixes` (all when there are none).
    ListDir {
        /// Absolute path.
        path: String,
        /// Which names matter.
        prefixes: Vec<String>,
    },
    /// Does this path exist? Links are followed.
    Exists {
        /// Absolute path.
        path: String,
    },
    /// Run a program without a shell, with closed stdin and `LC_ALL=C`, and kill it at the limit.
    Run {
        /// Absolute path, or a bare name for the search path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Milliseconds it may take.
        limit_ms: u64,
        /// Bytes to keep of each output.
        max_bytes: u64,
    },
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A file's text.
    Text {
        /// The text.
        text: String,
    },
    /// A folder's names.
    Names {
        /// The names, in any order.
        names: Vec<String>,
    },
    /// The path exists.
    Present,
    /// A program ended.
    Ran {
        /// Exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// Its standard output.
        stdout: String,
        /// Its standard error.
        stderr: String,
    },
    /// There is no such file, folder or program.
    Missing,
    /// It took longer than it may.
    TimedOut,
    /// Anything else: the system's words.
    Failed {
        /// Why.
        why: String,
    },
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// The question.
    pub probe: Probe,
    /// The answer.
    pub answer: Answer,
}

pub(super) const DRIVER_FILE: &str = "/proc/driver/nvidia/version";
pub(super) const SMI: [&str; 2] = ["nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"];
pub(super) const LDCONFIG: [&str; 2] = ["/sbin/ldconfig", "/usr/sbin/ldconfig"];
pub(super) const SYSCTL: &str = "/usr/sbin/sysctl";
pub(super) const MEMINFO: &str = "/proc/meminfo";
pub(super) const KFD: &str = "/dev/kfd";
pub(super) const ROCM: &str = "/opt/rocm";
pub(super) const ICD_DIRS: [&str; 3] =
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
pub(super) const SYSCTL_KEYS: [&str; 3] = ["hw.optional.arm64", "sysctl.proc_translated", "hw.memsize"];
const LIBRARIES: [&str; 3] = ["libcudart.so.", "libcublas.so.", "libvulkan.so."];

pub(super) fn library_dirs(arch: &Arch) -> Vec<&'static str> {
    let mut dirs = vec!["/usr/lib64", "/usr/lib", "/lib", "/usr/local/lib", "/run/opengl-driver/lib"];
    dirs.extend(["/usr/local/cuda/lib64", "/opt/cuda/lib64"]);
    dirs.push(match arch {
        Arch::Arm64 => "/usr/lib/aarch64-linux-gnu",
        Arch::X64 | Arch::Other(_) => "/usr/lib/x86_64-linux-gnu",
    });
    dirs
}

/// What to ask a machine, given what this program was built for. The probes are independent: a
/// driver may ask them in any order or at once, and hands every answer to
/// [`HostFacts::from_probes`](super::HostFacts::from_probes).
pub fn probes(os: &Os, arch: &Arch) -> Vec<Probe> {
    match os {
        Os::Linux => linux(arch),
        Os::Macos => SYSCTL_KEYS.map(|key| run(SYSCTL, &["-n", key], 2_000)).into(),
        Os::Other(_) => Vec::new(),
    }
}

fn linux(arch: &Arch) -> Vec<Probe> {
    let read = |path: &str| Probe::ReadFile { path: path.into(), max_bytes: 64 << 10 };
    let exists = |path: &str| Probe::Exists { path: path.into() };
    let list = |path: &str, prefixes: &[&str]| Probe::ListDir {
        path: path.into(),
        prefixes: prefixes.iter().map(|&prefix| prefix.into()).collect(),
    };
    let mut probes = vec![read(MEMINFO), read(DRIVER_FILE), exists(KFD), exists(ROCM)];
    let query = ["--query-gpu=driver_version", "--format=csv,noheader"];
    probes.extend(SMI.map(|program| run(program, &query, 5_000)));
    probes.extend(LDCONFIG.map(|program| run(program, &["-p"], 5_000)));
    probes.extend(ICD_DIRS.map(|dir| list(dir, &[])));
    probes.extend(library_dirs(arch).into_iter().map(|dir| list(dir, &LIBRARIES)));
    probes
}

fn run(program: &str, args: &[&str], limit_ms: u64) -> Probe {
    let args = args.iter().map(|&arg| arg.into()).collect();
    Probe::Run { program: program.into(), args, limit_ms, max_bytes: 1 << 20 }
}
