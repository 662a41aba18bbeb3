//! The frames between daemon and worker: a u32 little-endian length, then one JSON object with a
//! `type`. A person with a dump can read it; a length above the bound closes the link.

mod codec;
mod frame;
mod submit;

pub use codec::{CodecError, Decoder, encode};
pub use frame::{JobUpdate, LoadSpec, Loaded, Stats, ToDaemon, ToWorker};
pub use submit::{Delivered, Input, Sampling, Submit, TokenLogprob, TopLogprob};

/// The protocol this build speaks. A worker and a daemon that differ part with a clear message.
pub const PROTOCOL: u32 = 3;

/// Bytes one frame's JSON may have at most.
pub const MAX_FRAME: u32 = 64 << 20;
