//! What a worker's process may do. Decided here before it starts, carried out by the process itself
//! before it loads anything: a model file, and whatever a library makes of it, comes from elsewhere.

use super::Resolved;
use super::resolve::Place;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a worker may touch of its system. A path that is not there allows nothing; a `*` may stand
/// once in a path's last part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Files and folders it may read, and start programs of.
    pub read: Vec<String>,
    /// The model: may be read, and so may what the links in its folder lead to.
    pub model: String,
    /// Device files it may use.
    pub devices: Vec<String>,
    /// Folders in which it may make, change and remove files.
    pub write: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
}

/// What is known of a worker that is about to start.
#[derive(Clone, Debug)]
pub struct Confined<'a> {
    /// The worker.
    pub worker: &'a Resolved,
    /// Absolute path of the model.
    pub model: &'a str,
    /// Folders and files of libraries that the environment names.
    pub libraries: Vec<String>,
    /// What the operator allows besides, to read.
    pub read: &'a [String],
    /// What the operator allows besides, to write; a park folder too.
    pub write: &'a [String],
    /// Whether the operator allows the network.
    pub network: bool,
}

/// Programs, libraries and what they read of the system as they start. Nobody's own files.
const SYSTEM: [&str; 26] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/opengl-driver",
    "/run/opengl-driver-32",
    "/run/current-system/sw",
    "/proc",
    "/sys",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/nsswitch.conf",
    "/etc/OpenCL",
    "/etc/vulkan",
    "/etc/glvnd",
    "/etc/drirc",
    "/etc/nvidia",
    "/etc/alternatives",
    "/etc/static",
];

/// What every program needs, then graphics and other processors that compute.
const DEVICES: [&str; 13] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/dri",
    "/dev/kfd",
    "/dev/nvidia*",
    "/dev/nvidia-caps",
    "/dev/dxg",
    "/dev/accel",
    "/dev/dma_heap",
    "/dev/udmabuf",
];

impl Sandbox {
    /// The variable by which a worker gets its sandbox, as JSON.
    pub const VARIABLE: &str = "SUPERFLUID_SANDBOX";

    /// What the worker needs and the operator allows, and nothing else.
    pub fn of(confined: &Confined<'_>) -> Self {
        let worker = confined.worker;
        let mut read: Vec<String> = SYSTEM.map(String::from).into();
        read.push(worker.program.clone());
        if worker.place == Place::Installed
            && let Some((install, _)) = worker.program.rsplit_once("/bin/")
        {
            read.push(install.to_string());
        }
        read.extend(worker.lib_dir.clone());
        read.extend(confined.libraries.iter().filter(|path| path.starts_with('/')).cloned());
        read.extend(confined.read.iter().cloned());
        Self {
            read,
            model: parts(confined.model),
            devices: DEVICES.map(String::from).into(),
            write: confined.write.to_vec(),
            network: confined.network,
        }
    }
}

/// A model's path; one in several files (`name-00001-of-00003.gguf`) with all of them.
fn parts(model: &str) -> String {
    let number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let several = || {
        let (rest, suffix) = model.rsplit_once('.')?;
        let (rest, of) = rest.rsplit_once("-of-")?;
        let (name, first) = rest.rsplit_once('-')?;
        (number(of) && number(first) && !name.contains('*')).then(|| format!("{name}-*-of-{of}.{suffix}"))
    };
    several().unwrap_or_else(|| model.to_string())
}
