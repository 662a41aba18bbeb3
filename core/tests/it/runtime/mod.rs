//! Formats, GGUF headers, selection, resolution and the environment.

mod basert;
mod env;
mod file;
mod format;
mod gguf;
mod gguf_property;
mod pick;
mod resolve;
mod resolve_property;
mod sandbox;
mod select;
