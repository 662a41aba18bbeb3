//! Where text ends: several stop strings, searched in text that arrives in any pieces.

use super::Verdict;
use alloc::vec;
use alloc::vec::Vec;

/// Finds the leftmost occurrence of any of several strings in text that arrives in pieces, and says
/// which part of the text no stop string can take any more.
///
/// The leftmost start counts. Where one stop string is complete while another that started
/// earlier may still become complete, the verdict waits for it, so that the end does not depend
/// on how the text was split. Each byte costs amortised constant time a stop string
/// (Knuth-Morris-Pratt).
#[derive(Clone, Debug, Default)]
pub struct StopMachine {
    stops: Vec<Stop>,
    /// Bytes seen.
    seen: u64,
    /// Start of the leftmost complete stop string.
    found: Option<u64>,
    stopped: bool,
}

#[derive(Clone, Debug)]
struct Stop {
    bytes: Vec<u8>,
    /// `borders[n]`: length of the longest proper border of the first `n + 1` bytes.
    borders: Vec<u32>,
    /// Bytes of it that the text's end matches.
    matched: usize,
}

impl StopMachine {
    /// A machine that looks for `stops`; empty ones are left out.
    pub fn new<S: AsRef<str>>(stops: &[S]) -> Self {
        let stops = stops.iter().map(S::as_ref).filter(|s| !s.is_empty()).map(Stop::new).collect();
        Self { stops, ..Self::default() }
    }

    /// The length in bytes of the text that is certain: what lies before any stop string, whole
    /// or still possible. Always a character boundary; never shrinks.
    pub fn certain(&self) -> u64 {
        let open = self.stops.iter().map(|stop| self.seen - stop.matched as u64).min();
        let open = if self.stopped { None } else { open };
        self.found.into_iter().chain(open).min().unwrap_or(self.seen)
    }

    /// Takes the next piece of text. After [`Verdict::Stop`] everything is ignored.
    pub fn push(&mut self, text: &str) -> Verdict {
        if self.stopped {
            return Verdict::Stop;
        }
        if self.stops.is_empty() {
            self.seen += text.len() as u64;
            return Verdict::GoOn;
        }
        for &byte in text.as_bytes() {
            self.seen += 1;
            for stop in &mut self.stops {
                if stop.step(byte) {
                    let start = self.seen - stop.bytes.len() as u64;
                    self.found = Some(self.found.map_or(start, |found| found.min(start)));
                }
            }
            if let Some(found) = self.found
                && self.stops.iter().all(|stop| self.seen - stop.matched as u64 >= found)
            {
                self.stopped = true;
                return Verdict::Stop;
            }
        }
        Verdict::GoOn
    }

    /// No more text comes: what could still have become a stop string is text after all.
    pub fn finish(&mut self) -> Verdict {
        for stop in &mut self.stops {
            stop.matched = 0;
        }
        self.stopped |= self.found.is_some();
        if self.stopped { Verdict::Stop } else { Verdict::GoOn }
    }
}

impl Stop {
    fn new(text: &str) -> Self {
        let bytes = Vec::from(text);
        let mut borders = vec![0_u32; bytes.len()];
        let mut length = 0;
        for at in 1..bytes.len() {
            while length > 0 && bytes[at] != bytes[length] {
                length = borders[length - 1] as usize;
            }
            length += usize::from(bytes[at] == bytes[length]);
            borders[at] = u32::try_from(length).unwrap_or(0);
        }
        Self { bytes, borders, matched: 0 }
    }

    /// Moves on by one byte; whether the text now ends with the whole stop string.
    fn step(&mut self, byte: u8) -> bool {
        while self.matched > 0 && self.bytes[self.matched] != byte {
            self.matched = self.borders[self.matched - 1] as usize;
        }
        self.matched += usize::from(self.bytes[self.matched] == byte);
        let whole = self.matched == self.bytes.len();
        if whole {
            self.matched = self.borders[self.matched - 1] as usize;
        }
        whole
    }
}
