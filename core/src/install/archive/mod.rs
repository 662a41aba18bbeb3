//! Which member of an archive may land where, judged before a byte is written.
//!
//! [`Member::read`] judges one header alone, [`Budget`] bounds what a hostile archive may cost
//! while it is read, [`judge`] judges all members together, and [`arrange`] says where each goes
//! in an install. No name is ever repaired: it is either taken as it stands or the install fails.

mod arrange;
mod fold;
mod judge;
mod member;

pub use arrange::{Arrangement, HardLink, Link, Placement, Shape, arrange};
pub use fold::fold;
pub use judge::{Judged, judge};
pub use member::{Kind, Member, RawMember};

use crate::refusal::Refusal;
use alloc::format;
use serde::{Deserialize, Serialize};

/// What one archive may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of the unpacked stream, headers and padding included.
    pub unpacked: u64,
    /// Members, links and folders included.
    pub members: u32,
    /// Bytes of one extension header (a long name, a PAX record block).
    pub header: u32,
}

impl Limits {
    /// Floor of `unpacked`, so that a small archive of text is not refused for its good ratio.
    const FLOOR: u64 = 256 << 20;
    /// Ceiling of `unpacked`; the largest CUDA archives unpack to about 2 GiB.
    const CEILING: u64 = 16 << 30;
    /// How much a packed byte may become. Libraries pack at 2 to 5, zeros at 1000.
    const RATIO: u64 = 20;

    /// The limits of an archive of `size` bytes.
    pub const fn for_size(size: u64) -> Self {
        let scaled = size.saturating_mul(Self::RATIO);
        let unpacked = if scaled < Self::FLOOR {
            Self::FLOOR
        } else if scaled > Self::CEILING {
            Self::CEILING
        } else {
            scaled
        };
        Self { unpacked, members: 50_000, header: 64 << 10 }
    }
}

/// Counts what an archive has cost so far; a driver asks it before it takes more.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limits: Limits,
    unpacked: u64,
    members: u32,
}

impl Budget {
    /// Nothing spent.
    pub const fn new(limits: Limits) -> Self {
        Self { limits, unpacked: 0, members: 0 }
    }

    /// Takes `bytes` of the unpacked stream.
    pub fn unpacked(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        if self.unpacked <= self.limits.unpacked {
            return Ok(());
        }
        Err(refuse(format!("the archive unpacks to more than {} MiB", self.limits.unpacked >> 20)))
    }

    /// Takes one member.
    pub fn member(&mut self) -> Result<(), Refusal> {
        self.members = self.members.saturating_add(1);
        if self.members <= self.limits.members {
            return Ok(());
        }
        Err(refuse(format!("the archive has more than {} members", self.limits.members)))
    }

    /// Whether an extension header of `bytes` may be read into memory.
    pub fn header(&self, bytes: u64) -> Result<(), Refusal> {
        if bytes <= u64::from(self.limits.header) {
            return Ok(());
        }
        Err(refuse(format!(
            "the archive has an extension header of {bytes} bytes, more than {}",
            self.limits.header
        )))
    }
}

/// A refusal of the whole archive.
fn refuse(message: impl Into<alloc::string::String>) -> Refusal {
    Refusal::new("bad_archive", message)
        .hint("nothing was unpacked; get the archive again from its own project")
}
