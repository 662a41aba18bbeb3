//! Which broken fetches are tried again, from where and how soon.

use super::effect::{Fault, FaultKind, Resume};
use alloc::format;
use alloc::string::String;

/// Waits before the attempts after one that brought nothing new. When they are used up, it is over.
const DELAYS_MS: [u64; 3] = [500, 1_000, 2_000];
/// Most attempts of one fetch, however much each brings.
const MOST: u32 = 20;

/// Longest wait that a server may ask for; past it the request has failed.
const PATIENCE_MS: u64 = 120_000;

/// How one request has gone so far: whether, when and from where it is made again.
#[derive(Debug, Default)]
pub struct Attempts {
    count: u32,
    fruitless: usize,
    best: u64,
    resume: Option<Resume>,
}

impl Attempts {
    /// The connection broke; `have` bytes have come, of a file the server names with `validator`.
    pub fn broke(&mut self, have: u64, validator: Option<String>, size: Option<u64>) {
        if have > self.best {
            self.best = have;
            self.fruitless = 0;
        }
        let validator = validator.filter(|tag| is_strong(tag));
        let sure = validator.is_some() || size.is_some();
        let more = have > 0 && size.is_none_or(|size| have < size);
        self.resume = (sure && more).then_some(Resume { have, validator });
    }

    /// How long to wait before the next attempt and where it goes on; `None` where it is over.
    pub fn next(&mut self, fault: &Fault) -> Option<(u64, Option<Resume>)> {
        let asked = fault.retry_after_ms;
        let limited = fault.kind == FaultKind::Status(403) && asked.is_some();
        let patient = asked.is_none_or(|ms| ms <= PATIENCE_MS);
        if !(can_pass(fault.kind) || limited) || !patient || self.count + 1 >= MOST {
            return None;
        }
        if matches!(fault.kind, FaultKind::Status(206 | 416)) {
            self.resume = None;
        }
        let delay = *DELAYS_MS.get(self.fruitless)?;
        self.fruitless += 1;
        self.count += 1;
        Some((delay.max(asked.unwrap_or(0)), self.resume.clone()))
    }
}

/// `Retry-After` as a number of seconds; a date is not understood, and the usual wait goes.
pub fn retry_after(text: &str) -> Option<u64> {
    number(text.trim())
}

/// Whether the same request may go better a little later.
const fn can_pass(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Network | FaultKind::Status(206 | 408 | 416 | 425 | 429 | 500 | 502 | 503 | 504)
    )
}

/// A strong entity tag: only such a one promises the very same bytes.
fn is_strong(tag: &str) -> bool {
    tag.len() >= 2
        && tag.len() <= 256
        && tag.starts_with('"')
        && tag.ends_with('"')
        && tag.bytes().all(|b| b.is_ascii_graphic())
}

/// What a response's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The whole file, from its first byte: what came before is thrown away.
    Whole,
    /// What comes after the bytes that are there.
    Rest,
}

/// Judges a response to a fetch: its status and `Content-Range`, against what was asked for.
pub fn judge_response(
    status: u16,
    content_range: Option<&str>,
    resume: Option<&Resume>,
    size: Option<u64>,
) -> Result<Body, Fault> {
    match (status, resume) {
        (200, _) => Ok(Body::Whole),
        (206, Some(resume)) => {
            let fits = content_range.and_then(parse_range).is_some_and(|(start, end, total)| {
                let total_fits =
                    total.is_none_or(|total| total > end && size.is_none_or(|size| size == total));
                start == resume.have && end >= start && total_fits
            });
            if fits {
                return Ok(Body::Rest);
            }
            let have = resume.have;
            let range: String = content_range.unwrap_or("an unnamed part").chars().take(80).collect();
            let message = format!("the server sent {range:?} when asked for what follows byte {have}");
            Err(Fault::new(FaultKind::Status(206), message))
        }
        _ => Err(Fault::new(FaultKind::Status(status), format!("the server answered with status {status}"))),
    }
}

/// `bytes 5-9/10`: first byte, last byte, and how many there are in all, if that is said.
fn parse_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(number(total)?) };
    Some((number(start)?, number(end)?, total))
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
