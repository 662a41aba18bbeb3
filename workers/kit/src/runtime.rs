//! What a worker crate says about its runtime, and how it loads a model.

use crate::primitives::Primitives;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::capability::{CheckReport, Record};
use superfluid_core::sched::Token;
use superfluid_core::wire::LoadSpec;

/// A token that tokenizers look for by its spelling before they cut a text into others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Special {
    /// Its id.
    pub token: Token,
    /// How it is spelled.
    pub text: String,
    /// Who may write it.
    pub kind: SpecialKind,
    /// Whether white space before it goes with it.
    pub lstrip: bool,
    /// Whether white space after it goes with it.
    pub rstrip: bool,
}

impl Special {
    /// Whether only a chat template writes it.
    pub fn is_control(&self) -> bool {
        self.kind != SpecialKind::Text
    }
}

/// Who may write a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialKind {
    /// A chat template, and a raw prompt: it is found only where control tokens are parsed.
    Control,
    /// A chat template, and a raw prompt: it gives a conversation its structure, and yet the tokenizer
    /// finds it in any text.
    Structure,
    /// Anybody: it is found in any text.
    Text,
}

/// A loaded model's vocabulary. Shared by threads: the reader tokenizes while the device runs.
pub trait Vocabulary: Send + Sync {
    /// Number of tokens; ids lie below it.
    fn size(&self) -> u32;
    /// Tokens that are found in a text by their spelling.
    fn specials(&self) -> Vec<Special>;
    /// Text to tokens. `special` parses control tokens written out in the text (chat templates, raw
    /// prompts);
    /// `bos` adds the begin-of-text token where the model wants one and the text does not have it.
    fn tokenize(&self, text: &str, special: bool, bos: bool) -> Result<Vec<Token>, Refusal>;
    /// The token's bytes; empty for control tokens that print nothing.
    fn piece(&self, token: Token) -> Vec<u8>;
    /// Whether generation ends with it.
    fn is_end(&self, token: Token) -> bool;
    /// Text of the begin-of-text token, for templates; empty where there is none.
    fn bos_text(&self) -> String;
    /// Text of the end-of-text token, for templates; empty where there is none.
    fn eos_text(&self) -> String;
}

/// A loaded model.
pub struct Model {
    /// The device side.
    pub primitives: Box<dyn Primitives>,
    /// The text side.
    pub vocabulary: Arc<dyn Vocabulary>,
    /// The chat template, where the model has one.
    pub chat_template: Option<String>,
    /// What it can do.
    pub record: Record,
    /// Runtime build and device in words, for the log.
    pub description: String,
}

/// A runtime: looks around, and loads one model.
pub trait Runtime {
    /// Canonical id: `llamacpp`, `mlx`, `mock`.
    fn id(&self) -> &'static str;
    /// Takes an option of its own off the command line, `--name value`; before everything else.
    /// `false` where there is no such option.
    fn option(&mut self, name: &str, value: &OsStr) -> Result<bool, Refusal> {
        let _ = (name, value);
        Ok(false)
    }
    /// Devices and static capabilities; `sizing` where `model` is given. Loads no weights.
    fn check(&mut self, model: Option<&Path>) -> Result<CheckReport, Refusal>;
    /// Loads a model. `progress` takes the share done in thousandths and returns `false` to give
    /// the load up. Called on the device thread, which keeps the model.
    fn load(&mut self, spec: &LoadSpec, progress: &mut dyn FnMut(u32) -> bool) -> Result<Model, Refusal>;
}
