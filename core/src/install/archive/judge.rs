//! All members of one archive, judged together: nothing lands outside, nothing lands twice.

use super::member::clip;
use super::{Kind, Member, fold, refuse};
use crate::refusal::Refusal;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// An archive whose every member may be placed. Only [`judge`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    members: Vec<Member>,
    top: String,
}

impl Judged {
    /// The members, in the archive's order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The one folder that holds everything else; empty where there is none.
    pub fn top(&self) -> &str {
        &self.top
    }

    /// The path below the top folder; `None` for the top folder itself and what holds it.
    pub fn below_top<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = match self.top.as_str() {
            "" => path,
            top => path.strip_prefix(top)?.strip_prefix('/')?,
        };
        (!rest.is_empty()).then_some(rest)
    }
}

/// What stands at a folded path.
struct Seat {
    path: String,
    dir: bool,
    /// Index of the regular file whose bytes it is, where it is one.
    file: Option<usize>,
}

/// Judges all members: duplicates, names that fold together, members below something that is no
/// folder, and links that lead out of the archive or out of its top folder.
pub fn judge(members: Vec<Member>) -> Result<Judged, Refusal> {
    let top = top_of(&members);
    let mut seats: BTreeMap<String, Seat> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        if member.path.is_empty() {
            continue;
        }
        for ancestor in ancestors(&member.path) {
            seat(&mut seats, ancestor, true, None)?;
        }
        let file = match &member.kind {
            Kind::File { .. } => Some(index),
            Kind::Hardlink { target } => Some(hard_target(&seats, &member.path, target)?),
            Kind::Dir | Kind::Symlink { .. } => None,
        };
        seat(&mut seats, &member.path, member.kind == Kind::Dir, file)?;
    }
    let judged = Judged { members, top };
    for member in &judged.members {
        if let Kind::Symlink { target } = &member.kind {
            symlink_target(&judged, &member.path, target)?;
        }
    }
    Ok(judged)
}

/// Where a symbolic link leads, as a path from the archive's root.
pub(super) fn symlink_target(judged: &Judged, path: &str, target: &str) -> Result<String, Refusal> {
    let out = || {
        refuse(format!("the symbolic link {:?} leads out of the archive, to {:?}", clip(path), clip(target)))
    };
    if target.starts_with('/') {
        return Err(out());
    }
    let mut at: Vec<&str> = path.split('/').collect();
    at.pop();
    let mut named = false;
    for component in target.split('/') {
        match component {
            "" | "." => {}
            // A ".." after a name is decided by what that name is on disk; only leading ones can
            // be judged from here.
            ".." if named => return Err(out()),
            ".." => {
                at.pop().ok_or_else(out)?;
            }
            name => {
                named = true;
                at.push(name);
            }
        }
    }
    let resolved = at.join("/");
    let inside = judged.top.is_empty() || resolved == judged.top || judged.below_top(&resolved).is_some();
    if inside { Ok(resolved) } else { Err(out()) }
}

/// The regular file an earlier member holds at a hard link's target.
fn hard_target(seats: &BTreeMap<String, Seat>, path: &str, target: &str) -> Result<usize, Refusal> {
    let bare = target.strip_prefix("./").unwrap_or(target);
    if bare.starts_with('/') || bare.split('/').any(|c| matches!(c, "" | "." | "..")) {
        return Err(refuse(format!(
            "the hard link {:?} leads out of the archive, to {:?}",
            clip(path),
            clip(target)
        )));
    }
    seats.get(&fold(bare)).filter(|seat| seat.path == bare).and_then(|seat| seat.file).ok_or_else(|| {
        refuse(format!(
            "the hard link {:?} leads to {:?}, which is no earlier file of the archive",
            clip(path),
            clip(target)
        ))
    })
}

/// Takes the place at `path`, or says who has it.
fn seat(
    seats: &mut BTreeMap<String, Seat>,
    path: &str,
    dir: bool,
    file: Option<usize>,
) -> Result<(), Refusal> {
    let key = fold(path);
    let Some(there) = seats.get(&key) else {
        seats.insert(key, Seat { path: path.into(), dir, file });
        return Ok(());
    };
    if there.path == path && there.dir && dir {
        return Ok(());
    }
    Err(if there.path != path {
        refuse(format!(
            "members {:?} and {:?} of the archive have the same name where case or accents are not told apart",
            clip(&there.path),
            clip(path)
        ))
    } else if there.dir == dir {
        refuse(format!("the archive has two members named {:?}", clip(path)))
    } else {
        refuse(format!("member {:?} of the archive is a folder and something else at once", clip(path)))
    })
}

/// `a` and `a/b` of `a/b/c`.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The one folder everything lies in. `bin` and `lib` are an install's own folders, never that.
fn top_of(members: &[Member]) -> String {
    let mut top: Option<&str> = None;
    for member in members.iter().filter(|member| !member.path.is_empty()) {
        let first = member.path.split('/').next().unwrap_or_default();
        let is_folder = member.path.len() > first.len() || member.kind == Kind::Dir;
        if !is_folder || matches!(first, "bin" | "lib") || top.is_some_and(|top| top != first) {
            return String::new();
        }
        top = Some(first);
    }
    top.unwrap_or_default().into()
}
