//! Which runtime serves a model, and where its worker is.

mod id;

pub use id::RuntimeId;
