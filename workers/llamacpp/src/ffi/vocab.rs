//! A model's vocabulary.
//!
//! llama.h: "Tokenization … The API is thread-safe." The functions read the vocabulary and keep
//! nothing, so any thread may call while another decodes.
#![expect(unsafe_code, reason = "calls llama.cpp")]

use super::library::text;
use super::model::LoadedModel;
use super::types::RawVocab;
use core::ptr::NonNull;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::sched::Token;
use superfluid_worker_kit::{Special, SpecialKind, Vocabulary};

/// `enum llama_token_attr`: what a token is for, and what its spelling takes along.
mod attr {
    pub(super) const UNKNOWN: i32 = 1 << 0;
    pub(super) const CONTROL: i32 = 1 << 3;
    pub(super) const USER_DEFINED: i32 = 1 << 4;
    pub(super) const LSTRIP: i32 = 1 << 7;
    pub(super) const RSTRIP: i32 = 1 << 8;
}

/// Turns of the Harmony format, which llama.cpp makes user-defined tokens of whatever the file says,
/// so that replies show them.
const HARMONY: [&str; 5] = ["<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|end|>"];

/// The vocabulary of a loaded model; keeps the model alive.
pub struct LlamaVocabulary {
    model: Arc<LoadedModel>,
    raw: NonNull<RawVocab>,
    size: u32,
}

// SAFETY: the vocabulary is part of the model, which is immutable and shared (see `LoadedModel`).
unsafe impl Send for LlamaVocabulary {}
// SAFETY: as for Send.
unsafe impl Sync for LlamaVocabulary {}

impl LlamaVocabulary {
    /// The model's vocabulary; `None` where it has none.
    pub fn of(model: &Arc<LoadedModel>) -> Option<Self> {
        let symbols = &model.library.symbols;
        // SAFETY: the model is alive, and the vocabulary lives as long as it.
        let (raw, kind, size) = unsafe {
            let raw = NonNull::new((symbols.llama_model_get_vocab)(model.raw.as_ptr()).cast_mut())?;
            (raw, (symbols.llama_vocab_type)(raw.as_ptr()), (symbols.llama_vocab_n_tokens)(raw.as_ptr()))
        };
        let size = u32::try_from(size).ok().filter(|size| *size > 0 && kind != 0)?;
        Some(Self { model: Arc::clone(model), raw, size })
    }

    /// An id as C takes it; `None` for one that is not in the vocabulary.
    fn id(&self, token: Token) -> Option<i32> {
        i32::try_from(token).ok().filter(|_| token < self.size)
    }

    fn special(&self, function: unsafe extern "C" fn(*const RawVocab) -> i32) -> Option<Token> {
        // SAFETY: the vocabulary is alive as long as the model, which self holds.
        let id = unsafe { function(self.raw.as_ptr()) };
        Token::try_from(id).ok().filter(|id| *id < self.size)
    }

    fn begin(&self) -> Option<Token> {
        self.special(self.model.library.symbols.llama_vocab_bos)
    }

    /// The token, where llama.cpp finds it by its spelling.
    fn special_of(&self, token: Token) -> Option<Special> {
        let id = self.id(token)?;
        // SAFETY: the id is in the vocabulary.
        let attr = unsafe { (self.model.library.symbols.llama_vocab_get_attr)(self.raw.as_ptr(), id) };
        let has = |bits: i32| attr & bits != 0;
        let kind = if has(attr::CONTROL | attr::UNKNOWN) { SpecialKind::Control } else { SpecialKind::Text };
        has(attr::CONTROL | attr::UNKNOWN | attr::USER_DEFINED).then(|| Special {
            token,
            text: self.text_of(Some(token)),
            kind,
            lstrip: has(attr::LSTRIP),
            rstrip: has(attr::RSTRIP),
        })
    }

    fn text_of(&self, token: Option<Token>) -> String {
        let Some(id) = token.and_then(|token| self.id(token)) else { return String::new() };
        // SAFETY: the id is in the vocabulary; the text belongs to it and is copied.
        unsafe { text((self.model.library.symbols.llama_vocab_get_text)(self.raw.as_ptr(), id)) }
            .unwrap_or_default()
    }
}

impl Vocabulary for LlamaVocabulary {
    fn size(&self) -> u32 {
        self.size
    }

    fn specials(&self) -> Vec<Special> {
        let mut specials: Vec<Special> = (0..self.size).filter_map(|token| self.special_of(token)).collect();
        let named = |name: &&str| specials.iter().any(|special| special.text == **name);
        if HARMONY[..3].iter().all(named) {
            for special in &mut specials {
                if special.kind == SpecialKind::Text && HARMONY.contains(&special.text.as_str()) {
                    special.kind = SpecialKind::Structure;
                }
            }
        }
        specials
    }

    fn tokenize(&self, text: &str, special: bool, bos: bool) -> Result<Vec<Token>, Refusal> {
        let too_long =
            || Refusal::new("text_too_long", format!("a text of {} bytes can't be tokenized", text.len()));
        let length = i32::try_from(text.len()).map_err(|_| too_long())?;
        let mut tokens = vec![0i32; text.len() / 3 + 16];
        let count = loop {
            let room = i32::try_from(tokens.len()).map_err(|_| too_long())?;
            // SAFETY: the vocabulary is alive. Text and tokens outlive the call and have the
            // lengths that are said; the text need not end with a zero byte.
            let count = unsafe {
                (self.model.library.symbols.llama_tokenize)(
                    self.raw.as_ptr(),
                    text.as_ptr().cast(),
                    length,
                    tokens.as_mut_ptr(),
                    room,
                    false,
                    special,
                )
            };
            let known = count.unsigned_abs() as usize;
            if count >= 0 {
                break known;
            }
            // The room that is needed, negated, or that there are more than can be counted.
            if count == i32::MIN || known <= tokens.len() {
                return Err(too_long());
            }
            tokens.resize(known, 0);
        };
        tokens.truncate(count);
        // SAFETY: the vocabulary is alive.
        let wants = bos && unsafe { (self.model.library.symbols.llama_vocab_get_add_bos)(self.raw.as_ptr()) };
        let first = self
            .begin()
            .filter(|begin| wants && tokens.first().map(|first| first.unsigned_abs()) != Some(*begin));
        Ok(first.into_iter().chain(tokens.into_iter().map(i32::unsigned_abs)).collect())
    }

    fn piece(&self, token: Token) -> Vec<u8> {
        let Some(id) = self.id(token) else { return Vec::new() };
        let mut piece = vec![0u8; 32];
        loop {
            let room = i32::try_from(piece.len()).unwrap_or(i32::MAX);
            // SAFETY: the id is in the vocabulary, the buffer has the length that is said.
            let length = unsafe {
                (self.model.library.symbols.llama_token_to_piece)(
                    self.raw.as_ptr(),
                    id,
                    piece.as_mut_ptr().cast(),
                    room,
                    0,
                    false,
                )
            };
            let known = length.unsigned_abs() as usize;
            if length >= 0 {
                piece.truncate(known);
                return piece;
            }
            if known <= piece.len() {
                return Vec::new();
            }
            piece.resize(known, 0);
        }
    }

    fn is_end(&self, token: Token) -> bool {
        // SAFETY: the id is in the vocabulary.
        self.id(token).is_some_and(|id| unsafe {
            (self.model.library.symbols.llama_vocab_is_eog)(self.raw.as_ptr(), id)
        })
    }

    fn bos_text(&self) -> String {
        self.text_of(self.begin())
    }

    fn eos_text(&self) -> String {
        self.text_of(self.special(self.model.library.symbols.llama_vocab_eos))
    }
}
