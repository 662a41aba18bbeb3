//! How many threads compute, on a processor that others use too.
//!
//! llama.cpp's threads wait for each other by spinning, hundreds of times a token. Where the
//! system gives this process fewer cores than it has threads, each wait lasts until a thread that
//! was put aside comes back: measured on two shared cores, two threads made 0.7 tokens a second
//! where one made 46. Spinning threads use a whole core each, so the processor time a pass took
//! says how many cores the process really had.

use std::time::Duration;

/// Passes are judged together until they took this long.
const WINDOW: Duration = Duration::from_millis(100);
/// So many windows in a row must have gone short of cores: one alone is a neighbour that came and
/// went, and a smaller crew kept for it costs more than it took.
const SHORT_IN_A_ROW: u32 = 3;
/// How long a smaller crew works well before a larger one is tried; doubled each time it fails.
/// A try costs a few windows at worst at a fraction of the speed, a crew too small half of it for as
/// long as it is kept: so soon, and never after long.
const PATIENCE: Duration = Duration::from_millis(50);
const MOST_PATIENCE: Duration = Duration::from_secs(16);

/// Chooses a number of threads from the time that passes took.
#[derive(Clone, Debug)]
pub struct Pace {
    most: u32,
    now: u32,
    wall: Duration,
    cpu: Duration,
    good: Duration,
    patience: Duration,
    short: u32,
}

impl Pace {
    /// Starts with the most there may be.
    pub fn new(most: u32) -> Self {
        let most = most.max(1);
        Self {
            most,
            now: most,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            good: Duration::ZERO,
            patience: PATIENCE,
            short: 0,
        }
    }

    /// Threads to compute with now.
    pub fn threads(&self) -> u32 {
        self.now
    }

    /// A pass took so long by the clock and used so much processor time. Returns another number of
    /// threads where one is due.
    pub fn after(&mut self, wall: Duration, cpu: Duration) -> Option<u32> {
        self.wall += wall;
        self.cpu += cpu;
        if self.wall < WINDOW {
            return None;
        }
        let (wall, cpu) = (std::mem::take(&mut self.wall), std::mem::take(&mut self.cpu));
        // Three quarters of what the threads could have used is a machine they have to themselves.
        let share = cpu.as_secs_f64() / wall.as_secs_f64();
        if share < 0.75 * f64::from(self.now) && self.now > 1 {
            // A long pass stands for as many windows as it took.
            let windows = wall.as_nanos() / WINDOW.as_nanos();
            self.short = self.short.saturating_add(u32::try_from(windows).unwrap_or(u32::MAX));
            if self.short < SHORT_IN_A_ROW {
                return None;
            }
            self.short = 0;
            self.patience = (self.patience * 2).min(MOST_PATIENCE);
            self.good = Duration::ZERO;
            self.now = (share as u32).clamp(1, self.now - 1);
            return Some(self.now);
        }
        self.short = 0;
        self.good += wall;
        if self.now < self.most && self.good >= self.patience {
            self.good = Duration::ZERO;
            self.now += 1;
            return Some(self.now);
        }
        if self.now == self.most && self.good >= 2 * self.patience {
            self.good = Duration::ZERO;
            self.patience = (self.patience / 2).max(PATIENCE);
        }
        None
    }
}
