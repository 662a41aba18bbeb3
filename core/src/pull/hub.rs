//! The hub's addresses, and what its listing of a repository says.

use super::cache::{is_digest, is_plain};
use super::{Endpoint, ModelId, Revision};
use crate::refusal::Refusal;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Longest listing that is read, in bytes.
pub const LISTING_MAX: u64 = 32 << 20;

/// The digest a file is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Digest {
    /// SHA-256 of its bytes, as large files have it.
    Sha256(String),
    /// Git's name for it: SHA-1 of `blob <size>\0` and its bytes, as small files have it.
    Git(String),
}

impl Digest {
    /// Lower-case hex; also the blob's name in the cache.
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::Git(hex) => hex,
        }
    }
}

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubFile {
    /// Its path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// What it is to hold.
    pub digest: Digest,
}

/// A repository at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubListing {
    /// The commit, lower-case hex.
    pub commit: String,
    files: BTreeMap<String, Option<HubFile>>,
}

impl HubListing {
    /// Reads the hub's answer to [`listing_url`].
    pub fn parse(id: &ModelId, text: &str) -> Result<Self, Refusal> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| strange(id, &format!("{error}")))?;
        if raw.sha.len() != 40 || !is_digest(&raw.sha) {
            return Err(strange(id, "it names no commit"));
        }
        let file = |sibling: Sibling| {
            let path = sibling.rfilename;
            let digest = match sibling.lfs {
                Some(lfs) => (lfs.sha256.len() == 64 && is_digest(&lfs.sha256))
                    .then_some((Digest::Sha256(lfs.sha256), lfs.size)),
                None => sibling
                    .blob_id
                    .filter(|id| id.len() == 40 && is_digest(id))
                    .and_then(|id| Some((Digest::Git(id), sibling.size?))),
            };
            let file = digest.map(|(digest, size)| HubFile { path: path.clone(), size, digest });
            (path, file)
        };
        // A path that leads elsewhere is nobody's model.
        let plain = raw.siblings.into_iter().filter(|sibling| is_plain(&sibling.rfilename));
        Ok(Self { commit: raw.sha, files: plain.map(file).collect() })
    }

    /// The paths there are.
    pub fn paths(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// A file by its path.
    pub fn file(&self, id: &ModelId, path: &str) -> Result<&HubFile, Refusal> {
        self.files.get(path).and_then(Option::as_ref).ok_or_else(|| {
            Refusal::new(
                "no_digest",
                format!(
                    "the hub names no size and digest for {path} of {}, so it cannot be checked",
                    id.repo()
                ),
            )
            .hint("fetch it yourself, and serve it by its path")
        })
    }
}

fn strange(id: &ModelId, why: &str) -> Refusal {
    Refusal::new("bad_listing", format!("the hub's answer about {} cannot be read: {why}", id.repo()))
        .hint("check HF_ENDPOINT; a page in the hub's place answers like this")
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob_id: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    sha256: String,
    size: u64,
}

/// Where a repository is listed, with sizes and digests.
pub fn listing_url(endpoint: &Endpoint, id: &ModelId, revision: &Revision) -> String {
    let revision = escaped(revision.as_str(), false);
    format!("{}/api/models/{}/revision/{revision}?blobs=true", endpoint.as_str(), id.repo())
}

/// Where a file of a repository is.
pub fn file_url(endpoint: &Endpoint, id: &ModelId, commit: &str, path: &str) -> String {
    format!("{}/{}/resolve/{commit}/{}", endpoint.as_str(), id.repo(), escaped(path, true))
}

/// Percent-escapes what is not plain in a URL's path.
fn escaped(text: &str, slashes: bool) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, b| {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(b.into()),
            b'/' if slashes => escaped.push('/'),
            b => escaped.push_str(&format!("%{b:02X}")),
        }
        escaped
    })
}
