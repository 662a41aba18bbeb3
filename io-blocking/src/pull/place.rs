//! The hub, the user's token and the cache, as the environment names them.

use super::missing;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::pull::{Endpoint, cache};

/// A user's token. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as a header can carry it.
    pub fn new(text: &str, from: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        if text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(text.into()));
        }
        Err(Refusal::new("bad_token", format!("the token in {from} is not one line of plain characters"))
            .hint("copy it again from the hub's settings"))
    }

    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where models come from and where they lie.
#[derive(Clone, Debug)]
pub struct Hub {
    /// The hub's address.
    pub endpoint: Endpoint,
    /// The user's token.
    pub token: Option<Token>,
    /// The cache's root; it need not exist.
    pub cache: PathBuf,
}

impl Hub {
    /// As the environment says: `HF_ENDPOINT`; `HF_TOKEN`, else the file of `HF_TOKEN_PATH`, else
    /// `token` in `HF_HOME`; `HF_HUB_CACHE`, else `hub` in `HF_HOME`. Set and empty is unset.
    pub fn from_env() -> Result<Self, Refusal> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = match (variable(cache::HOME_VARIABLE), variable("XDG_CACHE_HOME"), std::env::home_dir()) {
            (Some(home), _, _) => absolute(&home)?,
            (None, Some(folder), _) => absolute(&folder)?.join(cache::DEFAULT_HOME),
            (None, None, Some(user)) if user.is_absolute() => user.join(".cache").join(cache::DEFAULT_HOME),
            _ => {
                return Err(Refusal::new(
                    "no_home",
                    "HF_HOME is not set, and HOME names no folder by an absolute path",
                )
                .hint("set HF_HOME to the folder models may be kept in"));
            }
        };
        let endpoint = match variable("HF_ENDPOINT") {
            Some(value) => Endpoint::parse(&value.to_string_lossy())?,
            None => Endpoint::default(),
        };
        let named = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]
            .into_iter()
            .find_map(|name| Some((name, variable(name)?)))
            .filter(|(_, value)| !value.to_string_lossy().trim().is_empty());
        let token = match named {
            Some((name, value)) => Some(Token::new(&value.to_string_lossy(), name)?),
            None => {
                let file = variable("HF_TOKEN_PATH").map_or_else(|| home.join(cache::TOKEN), PathBuf::from);
                kept(&file)?
            }
        };
        let cache = match variable(cache::CACHE_VARIABLE) {
            Some(cache) => absolute(&cache)?,
            None => home.join(cache::HUB),
        };
        Ok(Self { endpoint, token, cache })
    }
}

fn absolute(path: &OsString) -> Result<PathBuf, Refusal> {
    std::path::absolute(path).map_err(|error| {
        Refusal::new("no_home", format!("{} cannot hold models: {error}", Path::new(path).display()))
    })
}

/// The token that the hub's own tools keep, where there is one.
fn kept(file: &Path) -> Result<Option<Token>, Refusal> {
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => Token::new(&text, &file.display().to_string()).map(Some),
        Err(error) if missing(&error) => Ok(None),
        Err(error) => Err(Refusal::new("bad_token", format!("cannot read {}: {error}", file.display()))
            .hint("change its permissions, or set HF_TOKEN")),
    }
}
