//! Which files of a park folder go.
//!
//! The folder is shared: by the models of a daemon, each of whose workers writes by itself, and by
//! daemons. So the bound holds for what lies in it, whoever wrote that, and is kept by whoever writes.

use super::name::{Kind, Name};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// After so long nobody is still writing a part.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A file in a park folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// When it was last used, since 1970.
    pub used: Duration,
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// The files that go so that one of `more` bytes has room within `budget`: those used longest ago
/// first. Other people's files count for nothing and stay. `None` where there can be no room.
pub fn make_room(mut files: Vec<File>, budget: u64, more: u64) -> Option<Vec<String>> {
    let left = budget.checked_sub(more)?;
    files.retain(|file| Name::parse(&file.name).is_some());
    files.sort();
    let mut all: u64 = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
    let over = files.into_iter().take_while(|file| {
        let goes = all > left;
        all = all.saturating_sub(file.bytes);
        goes
    });
    Some(over.map(|file| file.name).collect())
}

/// The files that writers left behind who are gone.
pub fn leftovers(files: &[File], now: Duration) -> Vec<String> {
    let gone = |file: &&File| {
        let part = Name::parse(&file.name).is_some_and(|(_, kind)| kind == Kind::Part);
        part && now.saturating_sub(file.used) >= ABANDONED
    };
    files.iter().filter(gone).map(|file| file.name.clone()).collect()
}
