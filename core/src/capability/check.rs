//! What `superfluid-worker-<id> check` prints: the report by which an install stands or falls.

use super::Record;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A device the runtime can use, as `check` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Backend family: `cpu`, `metal`, `cuda`, `rocm`, `vulkan`, `sycl`, `openvino`.
    pub backend: String,
    /// The device's own name.
    pub name: String,
    /// `cpu`, `gpu`, `igpu` or `accel`, as the runtime says. A software GPU device is a `cpu`.
    pub kind: String,
    /// Bytes of memory it has; 0 where unknown.
    pub memory_total: u64,
    /// Bytes of memory free now; 0 where unknown.
    pub memory_free: u64,
}

impl Device {
    /// Whether a build for `backend` stands on this device: it is of that backend, and where that
    /// is a GPU backend it is not a processor in disguise (a software Vulkan device).
    pub fn carries(&self, backend: &str) -> bool {
        self.backend == backend && (backend == "cpu" || self.kind != "cpu")
    }
}

/// What `superfluid-worker-<id> check` prints, as one JSON object. It loads no weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Canonical runtime id.
    pub runtime: String,
    /// The worker's own version.
    pub worker: String,
    /// The frame protocol the worker speaks.
    pub protocol: u32,
    /// The runtime library's own version, where it tells.
    pub version: String,
    /// Formats it reads: `gguf`, `mlx`, `base`.
    pub formats: Vec<String>,
    /// Devices it can use, best first.
    pub devices: Vec<Device>,
    /// What is known of the capability record before a model is loaded.
    pub capabilities: Record,
    /// How the context window would be sized, where `--model` was given.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub sizing: Map<String, Value>,
}
