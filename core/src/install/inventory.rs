//! What an install's files were when it was placed, against what lies there now.

use super::{InstallName, Manifest, layout};
use crate::refusal::Refusal;
use crate::runtime::RuntimeId;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One file or link of an install, as `runtime.json` records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Path relative to the install.
    pub path: String,
    /// What it holds.
    #[serde(flatten)]
    pub content: Content,
}

/// What a file or a link holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A regular file.
    File {
        /// Bytes.
        size: u64,
        /// Lower-case hex.
        sha256: String,
        /// Whether its owner may run it.
        #[serde(default, skip_serializing_if = "is_false")]
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Its target, as it stands.
        link: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Something found below an install. Folders are not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Path relative to the install.
    pub path: String,
    /// What it holds, or why that cannot be said.
    pub content: Result<Content, String>,
}

/// How one path differs from what was placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path relative to the install.
    pub path: String,
    /// In which way.
    pub change: Kind,
    /// More about it, for people; empty where there is no more to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The ways a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was placed and is gone.
    Missing,
    /// It is not what was placed.
    Changed,
    /// It was not placed.
    Extra,
}

/// One install, verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Whose install it is.
    pub runtime: RuntimeId,
    /// The install.
    pub install: InstallName,
    /// What came of it.
    #[serde(flatten)]
    pub verified: Verified,
}

/// What verifying one install brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Verified {
    /// Every file is as it was placed, and there is no other.
    Unchanged {
        /// How many files and links.
        files: usize,
    },
    /// Some are not, in the order of their paths.
    Changed {
        /// Never empty.
        changes: Vec<Change>,
    },
    /// It cannot be told: nothing, or nothing readable, says what was placed.
    Unknown {
        /// Why, and what to do.
        refusal: Refusal,
    },
}

/// The files of a staged install, for its manifest. Refused where one is neither file nor link.
pub(super) fn record(found: Vec<Found>) -> Result<Vec<ManifestFile>, Refusal> {
    let record = |Found { path, content }: Found| match content {
        Ok(content) => Ok(ManifestFile { path, content }),
        Err(why) => Err(Refusal::new("worker_check_failed", format!("the staged install's {path} {why}"))
            .hint("its worker's check changed the install; get the archive from its own project")),
    };
    let mut files = found.into_iter().map(record).collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.path != layout::MANIFEST);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Compares an install with its manifest; `manifest` as read, or why it was not.
pub fn verify(manifest: Result<&Manifest, Refusal>, found: &[Found]) -> Verified {
    let manifest = match manifest {
        Ok(manifest) if manifest.files.is_empty() => {
            return Verified::Unknown {
                refusal: Refusal::new("unrecorded", "it was installed without a record of its files")
                    .hint("superfluid runtime repair <id> <install> installs it again, with one"),
            };
        }
        Ok(manifest) => manifest,
        Err(refusal) => return Verified::Unknown { refusal },
    };
    let placed: BTreeMap<&str, &Content> =
        manifest.files.iter().map(|file| (file.path.as_str(), &file.content)).collect();
    let there: BTreeMap<&str, &Result<Content, String>> = found
        .iter()
        .filter(|found| found.path != layout::MANIFEST)
        .map(|found| (found.path.as_str(), &found.content))
        .collect();
    let change = |path: &str, change, detail| Change { path: path.into(), change, detail };
    let gone = placed.keys().filter(|path| !there.contains_key(*path));
    let mut changes: Vec<Change> = gone.map(|path| change(path, Kind::Missing, String::new())).collect();
    changes.extend(there.iter().filter_map(|(path, now)| match placed.get(path) {
        None => Some(change(path, Kind::Extra, String::new())),
        Some(was) => difference(was, now).map(|detail| change(path, Kind::Changed, detail)),
    }));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    if changes.is_empty() {
        Verified::Unchanged { files: placed.len() }
    } else {
        Verified::Changed { changes }
    }
}

/// How what is there differs from what was placed.
fn difference(was: &Content, now: &Result<Content, String>) -> Option<String> {
    match (was, now) {
        (_, Err(why)) => Some(why.clone()),
        (was, Ok(now)) if was == now => None,
        (Content::File { size: was, .. }, Ok(Content::File { size: now, .. })) if was != now => {
            Some(format!("has {now} bytes instead of {was}"))
        }
        (Content::File { sha256: was, .. }, Ok(Content::File { sha256: now, executable, .. })) => {
            Some(match (was == now, executable) {
                (false, _) => format!("has the SHA-256 {now} instead of {was}"),
                (true, true) => "may be run, and might not".to_string(),
                (true, false) => "may not be run any more".to_string(),
            })
        }
        (Content::Link { link: was }, Ok(Content::Link { link: now })) => {
            Some(format!("links to {now} instead of {was}"))
        }
        (Content::File { .. }, Ok(Content::Link { link })) => {
            Some(format!("is a link to {link} instead of a file"))
        }
        (Content::Link { link }, Ok(Content::File { .. })) => {
            Some(format!("is a file instead of a link to {link}"))
        }
    }
}
