//! One member's header, judged alone.

use super::refuse;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Longest path, in bytes.
const MAX_PATH: usize = 1024;
/// Longest component of a path, in bytes: what file systems hold.
const MAX_COMPONENT: usize = 255;

/// A tar header's fields as they stand in the archive, extension headers applied.
#[derive(Clone, Copy, Debug)]
pub struct RawMember<'a> {
    /// The path.
    pub name: &'a [u8],
    /// The link's target; empty for anything but links.
    pub link: &'a [u8],
    /// The type flag.
    pub flag: u8,
    /// Permission bits.
    pub mode: u32,
    /// Bytes of data.
    pub size: u64,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A regular file; the owner's execute bit is all that is kept of its mode.
    File {
        /// Whether its owner may run it.
        executable: bool,
    },
    /// A folder.
    Dir,
    /// A symbolic link, its target relative to its own folder.
    Symlink {
        /// As the archive gives it.
        target: String,
    },
    /// A hard link, its target a path from the archive's root.
    Hardlink {
        /// As the archive gives it.
        target: String,
    },
}

/// A member whose own name and type are in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Components joined by `/`; no leading or trailing slash. Empty for the archive's root.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Bytes of data.
    pub size: u64,
}

impl Member {
    /// Judges a header: its type, and each component of its name.
    pub fn read(raw: RawMember<'_>) -> Result<Self, Refusal> {
        let shown = String::from_utf8_lossy(raw.name);
        let bad = |why: &str| refuse(format!("member {:?} of the archive {why}", clip(&shown)));
        let Ok(name) = core::str::from_utf8(raw.name) else {
            return Err(bad("has a name that is not UTF-8"));
        };
        let kind = match raw.flag {
            b'0' | 0 => Kind::File { executable: raw.mode & 0o100 != 0 },
            b'5' => Kind::Dir,
            b'2' | b'1' => {
                let Ok(target) = core::str::from_utf8(raw.link) else {
                    return Err(bad("links to a name that is not UTF-8"));
                };
                check_text(target).map_err(|why| bad(&format!("is a link whose target {why}")))?;
                let target = target.into();
                if raw.flag == b'2' { Kind::Symlink { target } } else { Kind::Hardlink { target } }
            }
            b'3' | b'4' => return Err(bad("is a device node")),
            b'6' => return Err(bad("is a FIFO")),
            other => {
                let flag = char::from(other);
                return Err(bad(&format!("is of type {flag:?}, neither file, folder nor link")));
            }
        };
        check_text(name).map_err(&bad)?;
        let is_dir = kind == Kind::Dir;
        if raw.size != 0 && !matches!(kind, Kind::File { .. }) {
            return Err(bad("carries data although it is no file"));
        }
        let mut path = name;
        if let Some(rest) = path.strip_prefix("./") {
            path = rest;
        } else if path == "." && is_dir {
            path = "";
        }
        if is_dir {
            path = path.strip_suffix('/').unwrap_or(path);
        }
        if path.is_empty() && is_dir {
            return Ok(Self { path: String::new(), kind, size: 0 });
        }
        for component in path.split('/') {
            check_component(component).map_err(&bad)?;
        }
        let first = path.as_bytes();
        if first.len() >= 2 && first[0].is_ascii_alphabetic() && first[1] == b':' {
            return Err(bad("has a drive letter in its name"));
        }
        Ok(Self { path: path.into(), kind, size: raw.size })
    }
}

/// What holds for names and link targets alike.
fn check_text(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > MAX_PATH {
        return Err("has a path that is too long");
    }
    if text.starts_with('/') {
        return Err("is an absolute path");
    }
    if text.contains('\\') {
        return Err("has a backslash in its path");
    }
    if text.chars().any(|c| c.is_control() || is_bidi(c)) {
        return Err("has control characters in its path");
    }
    Ok(())
}

/// Characters that change the direction of text: they forge what a terminal shows.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check_component(component: &str) -> Result<(), &'static str> {
    match component {
        "" => Err("has an empty part in its path"),
        "." => Err("has \".\" in its path"),
        ".." => Err("has \"..\" in its path"),
        _ if component.len() > MAX_COMPONENT => Err("has a part of its path longer than 255 bytes"),
        _ => Ok(()),
    }
}

/// The beginning of a name, for a message.
pub(super) fn clip(name: &str) -> &str {
    let mut end = name.len().min(120);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
