//! How many lanes each class may have at once, as `--class-lanes` says it.

use super::Class;
use crate::refusal::Refusal;
use alloc::format;

/// Reads `interactive=4,agent=6,background=2`: the lanes of each class as in [`Class::ALL`]. A class
/// that is not named may have as many as there are.
///
/// ```
/// use superfluid_core::sched::parse_class_lanes;
/// assert_eq!(parse_class_lanes("background=2, interactive=4"), Ok([4, u32::MAX, 2]));
/// assert!(parse_class_lanes("background=0").is_err());
/// ```
///
/// # Errors
/// `bad_class_lanes`, with the part that is not understood.
pub fn parse_class_lanes(text: &str) -> Result<[u32; 3], Refusal> {
    let mut lanes = [None; 3];
    for part in text.split(',').map(str::trim) {
        let bad = |why: &str| {
            Refusal::new("bad_class_lanes", format!("{part:?} {why}"))
                .hint("give lanes like this: interactive=4,agent=6,background=2")
        };
        let (name, count) = part.split_once('=').ok_or_else(|| bad("has no ="))?;
        let class = Class::named(name.trim()).ok_or_else(|| bad("names no class of requests"))?;
        let count = count.trim();
        // Digits alone: the standard library takes a plus sign too.
        let count = count.parse().ok().filter(|_| count.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(count @ 1..) = count else {
            return Err(bad("gives no number of lanes, which is 1 or more"));
        };
        if lanes[class as usize].replace(count).is_some() {
            return Err(bad("names its class a second time"));
        }
    }
    Ok(lanes.map(|count| count.unwrap_or(u32::MAX)))
}
