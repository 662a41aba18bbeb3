//! Serves GGUF files through llama.cpp, loaded at run time.
//!
//! The library is the install's own or the user's ([`Places`]), it is checked against the C API
//! superfluid was written for before its first real call, and everything that touches it is in one
//! module; what leaves that module is safe.

mod bare;
mod bridge;
mod ffi;
mod find;
mod host;
mod inspect;
mod load;
mod needs;
mod pace;
mod primitives;
mod record;
mod sizing;

pub use bare::{BareRun, bare_greedy};
pub use bridge::Bridge;
pub use ffi::{Context, ContextSpec, Decoded, Library, LlamaVocabulary, LoadMode, LoadedModel, Row};
pub use find::{LIB_VARIABLE, Places};
pub use pace::Pace;
pub use primitives::LlamaPrimitives;
pub use sizing::{DEFAULT_WINDOW, Room, Shape, Size, cut, keeping, sequences, size};

use std::ffi::OsStr;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::wire::{LoadSpec, PROTOCOL};
use superfluid_worker_kit::{CheckReport, Model, Runtime};

/// Lanes `check --model` sizes for; `serve`'s default.
const DEFAULT_LANES: u32 = 8;

/// The runtime `llamacpp`.
pub struct LlamaRuntime {
    places: Places,
    library: Option<&'static Library>,
}

impl LlamaRuntime {
    /// A runtime that loads its library from these places when it is first needed.
    pub fn new(places: Places) -> Self {
        Self { places, library: None }
    }

    fn library(&mut self) -> Result<&'static Library, Refusal> {
        if let Some(library) = self.library {
            return Ok(library);
        }
        let shown = std::env::var_os("SUPERFLUID_LLAMA_LOG").is_some_and(|value| value == "1");
        let library = Library::open(&self.places.library()?, shown)?;
        self.library = Some(library);
        Ok(library)
    }
}

impl Runtime for LlamaRuntime {
    fn id(&self) -> &'static str {
        "llamacpp"
    }

    fn option(&mut self, name: &str, value: &OsStr) -> Result<bool, Refusal> {
        let known = name == "lib";
        if known {
            self.places.argument = Some(value.into());
        }
        Ok(known)
    }

    fn check(&mut self, model: Option<&Path>) -> Result<CheckReport, Refusal> {
        let library = self.library()?;
        let devices = load::devices(library);
        let (sizing, capabilities) = match model {
            None => (serde_json::Map::new(), record::record(&library.version(), None)),
            Some(path) => {
                inspect::inspect(path)?;
                let model = LoadedModel::load(library, path, LoadMode::Describe, &mut |_| true)?;
                load::refuse_unservable(&model, path)?;
                let (shape, room) = (load::shape(&model), Room::of(&devices));
                let size = size(&shape, &room, DEFAULT_LANES, None)?;
                let known = record::Known {
                    architecture: &model.metadata("general.architecture").unwrap_or_default(),
                    backend: devices.first().map_or("cpu", |device| device.backend.as_str()),
                    head_only: shape.shared,
                    size,
                };
                let sizing = sizing::report(&shape, &room, &size);
                (sizing, record::record(&library.version(), Some(&known)))
            }
        };
        Ok(CheckReport {
            runtime: self.id().to_owned(),
            worker: superfluid_worker_kit::VERSION.to_owned(),
            protocol: PROTOCOL,
            version: library.version(),
            formats: vec!["gguf".to_owned()],
            devices,
            capabilities,
            sizing,
        })
    }

    fn load(&mut self, spec: &LoadSpec, progress: &mut dyn FnMut(u32) -> bool) -> Result<Model, Refusal> {
        load::load(self.library()?, spec, progress)
    }
}
