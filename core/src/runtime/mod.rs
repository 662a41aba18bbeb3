//! Which runtime serves a model, and where its worker is.
//!
//! [`format`] says what a file or folder is, by its bytes; [`gguf`] reads a GGUF header and says
//! whether it can be served; [`Selectors`] hold `--runtime`; [`pick`] chooses a runtime for a
//! model; [`resolve`](fn@resolve) finds its worker; [`env`](mod@env) says what that worker must not inherit,
//! [`Sandbox`] what it may touch.

pub mod env;
pub mod format;
pub mod gguf;
mod id;
mod pick;
pub mod resolve;
mod sandbox;
mod select;

pub use id::RuntimeId;
pub use pick::{Model, Pick, infer, pick};
pub use resolve::{Place, Resolution, ResolveFacts, Resolved, Stat, resolve};
pub use sandbox::{Confined, Sandbox};
pub use select::{Choice, Selector, Selectors};
