//! The mock's tokens: every byte, the begin and the end of text, and the script's pieces.

use crate::script::Script;
use std::collections::BTreeMap;
use superfluid_core::Refusal;
use superfluid_core::sched::Token;
use superfluid_worker_kit::{Special, SpecialKind, Vocabulary};

/// The begin-of-text token, `<s>`.
pub const BOS: Token = 256;

/// The end-of-text token, `</s>`.
pub const EOS: Token = 257;

/// Control tokens and their spelling.
const CONTROL: [(&str, Token); 2] = [("<s>", BOS), ("</s>", EOS)];

/// Text becomes one token a byte; pieces come from replies alone, so that a prompt's text never
/// depends on them.
#[derive(Clone, Debug)]
pub struct MockVocabulary {
    pieces: Vec<Vec<u8>>,
    ids: BTreeMap<Vec<u8>, Token>,
    size: u32,
}

impl MockVocabulary {
    /// The vocabulary of a script, its replies' pieces included.
    pub fn new(script: &Script) -> Result<Self, Refusal> {
        let mut pieces: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        pieces.resize(EOS as usize + 1, Vec::new());
        let mut ids = BTreeMap::new();
        let replies = script.replies.iter().flat_map(|reply| &reply.reply);
        for piece in script.pieces.iter().chain(replies) {
            let bytes = piece.bytes();
            if bytes.len() != 1 && !ids.contains_key(bytes) {
                let id = Token::try_from(pieces.len())
                    .map_err(|_| Refusal::new("bad_mock_script", "the script has too many pieces"))?;
                ids.insert(bytes.to_vec(), id);
                pieces.push(bytes.to_vec());
            }
        }
        let size = u32::try_from(pieces.len()).unwrap_or(u32::MAX).max(script.vocab);
        Ok(Self { pieces, ids, size })
    }

    /// The token that is exactly these bytes.
    pub fn token_of(&self, bytes: &[u8]) -> Option<Token> {
        match bytes {
            [byte] => Some(Token::from(*byte)),
            bytes => self.ids.get(bytes).copied(),
        }
    }
}

impl Vocabulary for MockVocabulary {
    fn size(&self) -> u32 {
        self.size
    }

    fn specials(&self) -> Vec<Special> {
        let control = |(text, token): &(&str, Token)| Special {
            token: *token,
            text: (*text).into(),
            kind: SpecialKind::Control,
            lstrip: false,
            rstrip: false,
        };
        CONTROL.iter().map(control).collect()
    }

    fn tokenize(&self, text: &str, special: bool, bos: bool) -> Result<Vec<Token>, Refusal> {
        let mut tokens = Vec::with_capacity(text.len() + 1);
        if bos && !(special && text.starts_with("<s>")) {
            tokens.push(BOS);
        }
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            let found = CONTROL.iter().find(|(name, _)| special && rest.starts_with(name.as_bytes()));
            if let Some((name, token)) = found {
                tokens.push(*token);
                rest = &rest[name.len()..];
            } else {
                tokens.push(Token::from(byte));
                rest = after;
            }
        }
        Ok(tokens)
    }

    fn piece(&self, token: Token) -> Vec<u8> {
        self.pieces.get(token as usize).cloned().unwrap_or_default()
    }

    fn is_end(&self, token: Token) -> bool {
        token == EOS
    }

    fn bos_text(&self) -> String {
        "<s>".into()
    }

    fn eos_text(&self) -> String {
        "</s>".into()
    }
}
