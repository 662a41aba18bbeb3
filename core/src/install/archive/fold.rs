//! Names that one file system keeps apart and another takes for the same.

use alloc::string::String;

/// Base letters of U+00C0 to U+017F, in order; `·` where a character has no base letter.
const BASES: &str = "aaaaaa·ceeeeiiii·nooooo··uuuuy··aaaaaa·ceeeeiiii·nooooo··uuuuy·y\
    aaaaaaccccccccdd··eeeeeeeeeegggggggghh··iiiiiiiii···jjkk·llllll·\
    ···nnnnnn···oooooo··rrrrrrsssssssstttt··uuuuuuuuuuuuwwyyyzzzzzz·";

/// The name as a file system might compare it: lower case, and accented Latin letters with their
/// marks dropped in composed and decomposed spelling alike.
///
/// It errs towards "the same": `a` and `ä` fold together, so an archive with both is refused. Its
/// limit: composed letters past Latin Extended-A (Greek, Hangul, Vietnamese, …) and case folding
/// that changes a word's length beyond [`char::to_lowercase`] are not seen. Writing is safe without it, since
/// a driver creates each file anew and never through a link; folding turns a confusing "file
/// exists" on one system into one answer on every system.
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            '\u{300}'..='\u{36f}' => {}
            '\u{c0}'..='\u{17f}' => {
                let base = BASES.chars().nth(c as usize - 0xc0).filter(|base| *base != '·');
                folded.push(base.unwrap_or(c));
            }
            _ => folded.push(c),
        }
    }
    folded
}
