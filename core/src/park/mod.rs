//! States parked on disk: what an artifact is, what it is called, and which one has to go.
//!
//! An artifact is one state that left the device and host memory, as a file. It names the model, the
//! runtime's build and the tokens, and it is checksummed: one that is torn, somebody else's or of
//! another build is told from a good one before a runtime sees a byte of it. Losing one costs time,
//! never a reply.
//!
//! | file | idea |
//! |---|---|
//! | `artifact` | the format: made, and judged |
//! | `name` | names of files in the folder |
//! | `room` | which files go, the one used longest ago first |
//! | `model` | what tells one model's files from another's |

mod artifact;
mod model;
mod name;
mod room;

pub use artifact::{Head, Origin, PREFIX, Reject, decode, encode, head_len};
pub use model::{ModelDigest, samples};
pub use name::{Kind, Name};
pub use room::{File, leftovers, make_room};

use alloc::string::String;
use core::fmt::Write as _;
use core::time::Duration;

/// How long a worker that is drained goes on writing states.
pub const DRAIN: Duration = Duration::from_secs(10);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // A string takes all.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
