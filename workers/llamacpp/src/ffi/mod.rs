//! llama.cpp's C API: the only files of superfluid with unsafe code. What leaves this module is safe.

mod context;
mod layout;
mod library;
pub(crate) mod log;
mod model;
mod pool;
mod state;
mod symbols;
mod types;
mod vocab;

pub use context::{Context, ContextSpec, Decoded, Row};
pub use library::Library;
pub use model::{LoadMode, LoadedModel};
pub use vocab::LlamaVocabulary;
