//! The format. A head, then the state as the runtime exported it:
//!
//! | bytes | |
//! |---|---|
//! | 8 | `sfpark1` and a newline; the digit is the format |
//! | 4 | length of the description, little-endian |
//! | 4 | number of tokens, little-endian |
//! | … | the description, JSON: model, runtime, digests of tokens and state, the state's length |
//! | 4 a token | the tokens, little-endian |
//! | 32 | SHA-256 of all before |
//! | … | the state |
//!
//! So a folder is listed by reading heads only, and nothing is made of a length before it was compared
//! with what is there.

use super::hex;
use crate::sched::Token;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes after which [`head_len`] knows how long the head is.
pub const PREFIX: usize = 16;

const MAGIC: &[u8; 8] = b"sfpark1\n";
/// What every format's magic begins with.
const FAMILY: &[u8] = b"sfpark";
/// Bytes a description may have.
const MAX_DESCRIPTION: u32 = 64 << 10;
/// Tokens a state may hold.
const MAX_TOKENS: u32 = 16 << 20;
const DIGEST: usize = 32;

/// Whose states they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The model's digest, as [`ModelDigest`](super::ModelDigest) makes it.
    pub model: String,
    /// The runtime's build, in words: `llamacpp b11284 (cpu)`.
    pub runtime: String,
}

/// Why an artifact is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reject", rename_all = "snake_case")]
pub enum Reject {
    /// Not all of it is there, or not as it was written.
    #[error("it is torn: {what}")]
    Torn {
        /// What does not fit.
        what: String,
    },
    /// It is another model's, or no artifact.
    #[error("it is foreign: {what}")]
    Foreign {
        /// What it is.
        what: String,
    },
    /// It is this model's, but another build or another version of superfluid made it.
    #[error("it is stale: {what}")]
    Stale {
        /// What made it.
        what: String,
    },
}

fn torn(what: &str) -> Reject {
    Reject::Torn { what: what.into() }
}

/// What an artifact says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose state it is.
    pub origin: Origin,
    /// The tokens whose state it is.
    pub tokens: Vec<Token>,
    /// The state's length.
    pub state_bytes: u64,
    state_digest: String,
}

/// The description as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Description {
    model: String,
    runtime: String,
    tokens: u32,
    tokens_sha256: String,
    state_bytes: u64,
    state_sha256: String,
}

/// The head of an artifact of `state`, which follows it in the file. `None` for more tokens than an
/// artifact can have, or none.
pub fn encode(origin: &Origin, tokens: &[Token], state: &[u8]) -> Option<Vec<u8>> {
    let count = u32::try_from(tokens.len()).ok().filter(|count| (1..=MAX_TOKENS).contains(count))?;
    let words: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    let description = serde_json::to_vec(&Description {
        model: origin.model.clone(),
        runtime: origin.runtime.clone(),
        tokens: count,
        tokens_sha256: hex(&Sha256::digest(&words)),
        state_bytes: state.len() as u64,
        state_sha256: hex(&Sha256::digest(state)),
    });
    let description = description.ok()?;
    let length = u32::try_from(description.len()).ok().filter(|length| *length <= MAX_DESCRIPTION)?;
    let mut head = Vec::with_capacity(PREFIX + description.len() + words.len() + DIGEST);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(&count.to_le_bytes());
    head.extend_from_slice(&description);
    head.extend_from_slice(&words);
    let digest = Sha256::digest(&head);
    head.extend_from_slice(&digest);
    Some(head)
}

/// How long the head is that begins with these bytes.
///
/// # Errors
/// What [`Head::decode`] would say of it.
pub fn head_len(prefix: &[u8; PREFIX]) -> Result<u64, Reject> {
    let (magic, lengths) = prefix.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(match magic.strip_prefix(FAMILY) {
            Some([digit, b'\n']) if digit.is_ascii_alphanumeric() => {
                Reject::Stale { what: format!("its format is {}, not 1", char::from(*digit)) }
            }
            _ => Reject::Foreign { what: "no artifact begins like that".into() },
        });
    }
    let word =
        |at: usize| u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]);
    let (description, tokens) = (word(0), word(4));
    if description > MAX_DESCRIPTION || tokens > MAX_TOKENS || tokens == 0 {
        return Err(torn("no head is so long"));
    }
    Ok(PREFIX as u64 + u64::from(description) + 4 * u64::from(tokens) + DIGEST as u64)
}

impl Head {
    /// Reads a whole head, and nothing after it.
    ///
    /// # Errors
    /// Why the artifact is not used.
    pub fn decode(bytes: &[u8], ours: &Origin) -> Result<Self, Reject> {
        let prefix = bytes.first_chunk().ok_or_else(|| torn("its head is cut off"))?;
        if head_len(prefix)? != bytes.len() as u64 {
            return Err(torn("its head is cut off"));
        }
        let (head, digest) = bytes.split_at(bytes.len() - DIGEST);
        if Sha256::digest(head)[..] != *digest {
            return Err(torn("its head is not what was written"));
        }
        let length = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let (description, words) = head[PREFIX..].split_at(length);
        let said: Description =
            serde_json::from_slice(description).map_err(|_| torn("its description cannot be read"))?;
        if said.model != ours.model {
            return Err(Reject::Foreign { what: "it is another model's".into() });
        }
        if said.runtime != ours.runtime {
            return Err(Reject::Stale { what: format!("{} made it", said.runtime) });
        }
        let tokens: Vec<Token> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        if said.tokens as usize != tokens.len() || said.tokens_sha256 != hex(&Sha256::digest(words)) {
            return Err(torn("its tokens are not those it names"));
        }
        let (state_bytes, state_digest) = (said.state_bytes, said.state_sha256);
        let origin = Origin { model: said.model, runtime: said.runtime };
        Ok(Self { origin, tokens, state_bytes, state_digest })
    }

    /// Whether these bytes are the state.
    ///
    /// # Errors
    /// [`Reject::Torn`].
    pub fn admits(&self, state: &[u8]) -> Result<(), Reject> {
        if state.len() as u64 != self.state_bytes {
            return Err(torn("its state has another length"));
        }
        if self.state_digest != hex(&Sha256::digest(state)) {
            return Err(torn("its state is not what was written"));
        }
        Ok(())
    }
}

/// Judges a whole artifact; what it says, and the state.
///
/// # Errors
/// Why it is not used.
pub fn decode<'a>(bytes: &'a [u8], ours: &Origin) -> Result<(Head, &'a [u8]), Reject> {
    let prefix = bytes.first_chunk().ok_or_else(|| torn("its head is cut off"))?;
    let length = usize::try_from(head_len(prefix)?).unwrap_or(usize::MAX);
    let (head, state) = bytes.split_at_checked(length).ok_or_else(|| torn("its head is cut off"))?;
    let head = Head::decode(head, ours)?;
    head.admits(state)?;
    Ok((head, state))
}
