//! Names of files in a park folder: `<model>-<tokens>.park`, both digests cut short, and the same with
//! a number and `.part` while one is written. Nothing else in the folder is superfluid's (case X-07).

use super::{Origin, hex};
use crate::sched::Token;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use sha2::{Digest, Sha256};

/// Digits of the model's digest, and of the tokens'.
const DIGITS: [usize; 2] = [16, 32];

/// What a file's name says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An artifact.
    Whole,
    /// One that is being written, or whose writer died.
    Part,
}

/// The name of an artifact. The same tokens of the same model have the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name for these tokens' state.
    pub fn of(origin: &Origin, tokens: &[Token]) -> Self {
        let mut digest = Sha256::new();
        tokens.iter().for_each(|token| digest.update(token.to_le_bytes()));
        let tokens = hex(&digest.finalize()[..DIGITS[1] / 2]);
        Self(format!("{}-{tokens}", short(&origin.model)))
    }

    /// A file's name, and what it says; `None` for a file that is not superfluid's.
    pub fn parse(file: &str) -> Option<(Self, Kind)> {
        if let Some(name) = file.strip_suffix(".park") {
            return Self::checked(name).map(|name| (name, Kind::Whole));
        }
        let (name, number) = file.strip_suffix(".part")?.rsplit_once('.')?;
        let number = number.len() <= 20 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        Self::checked(name).filter(|_| number).map(|name| (name, Kind::Part))
    }

    /// Whether it is one of this model's, as far as a name tells.
    pub fn is_of(&self, origin: &Origin) -> bool {
        self.0.split_once('-').is_some_and(|(model, _)| model == short(&origin.model))
    }

    /// The file while it is written; `number` tells writers apart.
    pub fn part(&self, number: u64) -> String {
        format!("{}.{number}.part", self.0)
    }

    fn checked(name: &str) -> Option<Self> {
        let digits = |text: &str, count: usize| {
            text.len() == count && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let (model, tokens) = name.split_once('-')?;
        (digits(model, DIGITS[0]) && digits(tokens, DIGITS[1])).then(|| Self(name.to_string()))
    }
}

/// The file.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.park", self.0)
    }
}

/// The first digits of a model's digest, whatever it is.
fn short(model: &str) -> String {
    hex(&Sha256::digest(model.as_bytes())[..DIGITS[0] / 2])
}
