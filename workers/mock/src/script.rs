//! What a mock does, as data.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::sched::{Copying, Cut, Engine, Keeping};
use superfluid_core::wire::LoadSpec;

/// Names a script's file, for what happens before a model is named and whatever model is.
pub const SCRIPT_VARIABLE: &str = "SUPERFLUID_MOCK_SCRIPT";

/// How a script's file begins.
const MAGIC: &[u8] = b"{\"mock\":";

/// Bytes a script may have.
const MAX_SCRIPT: u64 = 64 << 20;

/// A chat template that shows each message with its role.
const TEMPLATE: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}<|assistant|>";

/// What a mock does. Every field but `mock` has a default; unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The script format's version: 1. The file's first key.
    pub mock: u32,
    /// Tokens beyond the 256 bytes, the begin and the end of text, from id 258 on.
    #[serde(default)]
    pub pieces: Vec<Piece>,
    /// Vocabulary size, where it is to be larger than its tokens; the rest print nothing.
    #[serde(default)]
    pub vocab: u32,
    /// The chat template; `null` for none.
    #[serde(default = "template")]
    pub chat_template: Option<String>,
    /// Milliseconds a load takes.
    #[serde(default)]
    pub load_ms: u64,
    /// Microseconds a prompt token takes.
    #[serde(default)]
    pub prefill_us: u64,
    /// Microseconds a pass with decode rows takes.
    #[serde(default)]
    pub decode_us: u64,
    /// What is answered to which prompts; the first that matches.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// Whether sequences can be cut.
    #[serde(default)]
    pub kind: Kind,
    /// Lanes; the load's wish where 0.
    #[serde(default)]
    pub lanes: u32,
    /// Tokens a sequence can hold where the load does not say.
    #[serde(default = "context")]
    pub context: u32,
    /// Cells; enough for every sequence where 0.
    #[serde(default)]
    pub pool: u32,
    /// Tokens a pass can carry.
    #[serde(default = "step_tokens")]
    pub step_tokens: u32,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What is tried of the system at the load. What came of it is in the record, in the section
    /// `attempts`: `true`, or the system's words.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
}

/// Something a worker may not be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempt {
    /// Read a file, or list a folder.
    Read(PathBuf),
    /// Make a file, write it, and remove it again.
    Write(PathBuf),
    /// Connect to an address with a port.
    Connect(String),
    /// Listen at an address with a port.
    Listen(String),
    /// Send a datagram to an address with a port.
    Send(String),
    /// Run a program to a good end.
    Run(PathBuf),
}

/// A token's bytes, written as text or as numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// UTF-8.
    Text(String),
    /// Any bytes.
    Bytes(Vec<u8>),
}

impl Piece {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// An answer, token by token; the end of text follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Given where the prompt, as tokenized, holds these bytes. Empty matches every prompt.
    pub prompt: String,
    /// One token each. A prompt that itself ends with the first of these tokens confuses it.
    pub reply: Vec<Piece>,
}

/// Whether sequences can be cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Plain attention: anywhere.
    #[default]
    Plain,
    /// Not at all.
    Recurrent,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: At,
    /// What.
    #[serde(rename = "do")]
    pub deed: Deed,
    /// At the n-th token or prefill that matches, counted over the process's life; 0 is every one.
    #[serde(default = "first")]
    pub nth: u64,
    /// Only for sequences that hold these bytes.
    #[serde(default)]
    pub prompt: String,
    /// Exit code of `exit`.
    #[serde(default)]
    pub code: u8,
    /// A file that is made when it happens; where it exists already, nothing happens. So that a
    /// worker's successor is spared.
    #[serde(default)]
    pub once: Option<PathBuf>,
    /// The file that `wait` waits for.
    #[serde(default)]
    pub until: Option<PathBuf>,
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// Before the command line is read. Only from [`SCRIPT_VARIABLE`].
    Start,
    /// In `check`.
    Check,
    /// At the end of a load.
    Load,
    /// Before a pass with prompt tokens.
    Prefill,
    /// Before a pass that brings a token.
    Token,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// A refusal; in a pass a fatal one.
    Error,
    /// No room in the pool; in a pass only.
    Capacity,
    /// Logits that are not numbers, for a sampled token.
    Nan,
    /// `abort()`.
    Abort,
    /// The process exits.
    Exit,
    /// Nothing, for ever.
    Hang,
    /// Nothing until a file is there, so that a test says how long something takes.
    Wait,
    /// Text where frames belong.
    Junk,
    /// A hello with another protocol version.
    Protocol,
    /// 1 MiB on standard error.
    Stderr,
    /// 10 MiB without a newline on standard error.
    LongLine,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            mock: 1,
            pieces: Vec::new(),
            vocab: 0,
            chat_template: template(),
            load_ms: 0,
            prefill_us: 0,
            decode_us: 0,
            replies: Vec::new(),
            kind: Kind::Plain,
            lanes: 0,
            context: context(),
            pool: 0,
            step_tokens: step_tokens(),
            faults: Vec::new(),
            attempts: Vec::new(),
        }
    }
}

/// Tokens of a micro-batch.
const MICRO_BATCH: u32 = 32;

impl Script {
    /// What the mock says it can do when loaded so.
    pub fn engine(&self, spec: &LoadSpec) -> Engine {
        let wished = if spec.max_batch == 0 { 8 } else { spec.max_batch };
        let lanes = if self.lanes == 0 { wished } else { self.lanes.min(wished) };
        let seqs = (lanes + 2).max(4);
        let seq_tokens = spec.max_context.unwrap_or(self.context);
        let pool_tokens = if self.pool == 0 { seqs.saturating_mul(seq_tokens) } else { self.pool };
        Engine {
            lanes,
            seqs,
            seq_tokens,
            pool_tokens,
            step_tokens: self.step_tokens.max(lanes),
            cut: if self.kind == Kind::Plain { Cut::Anywhere } else { Cut::HeadOnly },
            copying: Copying::Duplicates,
            mixes: true,
            neighbours: false,
            micro_batch: MICRO_BATCH,
            keeping: keeping(pool_tokens),
        }
    }

    /// A script out of its text.
    pub fn parse(text: &[u8], name: &Path) -> Result<Self, Refusal> {
        let bad = |what: String| {
            Refusal::new("bad_mock_script", format!("{} is no mock script: {what}", name.display()))
        };
        let script: Self = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
        if script.mock != 1 {
            return Err(bad(format!("format {} is not known, 1 is", script.mock)));
        }
        Ok(script)
    }
}

/// The script [`SCRIPT_VARIABLE`] names.
pub(crate) fn from_environment() -> Result<Option<Script>, Refusal> {
    let Some(path) = std::env::var_os(SCRIPT_VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(path);
    Script::parse(&read(&path)?, &path).map(Some)
}

/// The script a model file is, or the plain one for any other file.
pub(crate) fn of_model(path: &Path) -> Result<Script, Refusal> {
    let metadata = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    if metadata.is_dir() || metadata.len() > MAX_SCRIPT {
        return Ok(Script::default());
    }
    let text = read(path)?;
    if text.starts_with(MAGIC) { Script::parse(&text, path) } else { Ok(Script::default()) }
}

fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    std::fs::read(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new("no_such_model", format!("{} cannot be read: {error}", path.display()))
        .hint("give the path of a file; any will do for the mock")
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
fn template() -> Option<String> {
    Some(TEMPLATE.into())
}

fn context() -> u32 {
    4096
}

fn step_tokens() -> u32 {
    512
}

fn first() -> u64 {
    1
}

/// What the mock keeps in host memory: as many tokens as its pool has, at 4 bytes each and 4 a state.
fn keeping(pool_tokens: u32) -> Keeping {
    let host_bytes = u64::from(pool_tokens).saturating_mul(8);
    Keeping { host_bytes, state_bytes: 4, token_bytes: 4, ..Keeping::default() }
}
