//! Time as a value. Core never reads a clock: the driver passes [`Instant`]s in, always as the last
//! argument, measured from an origin it chose.

use core::fmt;
use core::ops::{Add, Sub};
use serde::{Deserialize, Serialize};

pub use core::time::Duration;

/// A point in time: nanoseconds since an origin the driver chose.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The driver's origin.
    pub const ORIGIN: Self = Self(0);

    /// The instant `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` milliseconds after the origin, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero when `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        let nanos = u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t+{:?}", Duration::from_nanos(self.0))
    }
}

/// The latest instant a machine has seen. A clock that jumps back is held at the latest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    latest: Instant,
}

impl Clock {
    /// Takes the driver's `now` and returns it, or the latest instant seen if `now` lies before it.
    pub fn advance(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The latest instant seen.
    pub const fn now(&self) -> Instant {
        self.latest
    }
}
