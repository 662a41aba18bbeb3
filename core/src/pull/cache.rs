//! Where a pulled model lies: the cache that the hub's own tools keep, so that either finds what the
//! other has fetched. Paths are relative to the cache's root.
//!
//! ```text
//! models--<org>--<name>/blobs/<digest>                 a file's bytes, once
//! models--<org>--<name>/blobs/<digest>.incomplete      what has come of it so far
//! models--<org>--<name>/snapshots/<commit>/<path>      a link to its blob
//! models--<org>--<name>/refs/<revision>                the commit it was last seen at
//! .locks/models--<org>--<name>/…                       locks
//! ```

use super::{ModelId, Revision};
use alloc::format;
use alloc::string::String;

/// The variable that names the cache itself.
pub const CACHE_VARIABLE: &str = "HF_HUB_CACHE";
/// The variable that names the folder the cache and the token are in.
pub const HOME_VARIABLE: &str = "HF_HOME";
/// That folder in the user's cache folder (`$XDG_CACHE_HOME`, else `~/.cache`).
pub const DEFAULT_HOME: &str = "huggingface";
/// The cache in that folder.
pub const HUB: &str = "hub";
/// The file with the user's token in that folder.
pub const TOKEN: &str = "token";

/// The repository's folder.
pub fn repo(id: &ModelId) -> String {
    format!("models--{}--{}", id.org, id.name)
}

/// A blob by its digest.
pub fn blob(id: &ModelId, digest: &str) -> String {
    format!("{}/blobs/{digest}", repo(id))
}

/// What has come of a blob.
pub fn partial(id: &ModelId, digest: &str) -> String {
    format!("{}.incomplete", blob(id, digest))
}

/// A commit's folder.
pub fn snapshot(id: &ModelId, commit: &str) -> String {
    format!("{}/snapshots/{commit}", repo(id))
}

/// The file that says which commit a revision is at.
pub fn reference(id: &ModelId, revision: &Revision) -> String {
    format!("{}/refs/{}", repo(id), revision.as_str())
}

/// Held while a model is pulled.
pub fn lock(id: &ModelId) -> String {
    format!(".locks/{}/superfluid.lock", repo(id))
}

/// What the hub's own tools hold while they fetch a blob.
pub fn blob_lock(id: &ModelId, digest: &str) -> String {
    format!(".locks/{}/{digest}.lock", repo(id))
}

/// The text of a link at `path` in a snapshot to a blob.
pub fn link_target(path: &str, digest: &str) -> String {
    let up = "../".repeat(2 + path.matches('/').count());
    format!("{up}blobs/{digest}")
}

/// Whether a text is a commit's or a blob's digest: lower-case hex of 40 or 64 digits.
pub fn is_digest(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a file's path in a repository may be one in a snapshot: plain parts, none of them
/// leading elsewhere.
pub fn is_plain(path: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 200
            && part != "."
            && part != ".."
            && !part.contains('\\')
            && !part.chars().any(char::is_control)
    };
    path.len() <= 1000 && path.split('/').all(part)
}
