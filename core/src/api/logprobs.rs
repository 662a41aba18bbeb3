//! A worker's log probabilities in the shapes of the two endpoints.

use super::body::{Candidate, ChatLogprob, ChatLogprobs, Ranked, TextLogprobs};
use crate::text::Utf8Assembler;
use crate::wire::TokenLogprob;
use alloc::string::String;
use alloc::vec::Vec;

/// What a probability of zero is given as: JSON has no infinity.
const FLOOR: f32 = -9999.0;

impl ChatLogprobs {
    pub(super) fn extend(&mut self, entries: &[TokenLogprob]) {
        self.content.extend(entries.iter().map(|entry| ChatLogprob {
            chosen: candidate(&entry.bytes, entry.logprob),
            top_logprobs: entry.top.iter().map(|top| candidate(&top.bytes, top.logprob)).collect(),
        }));
    }
}

impl TextLogprobs {
    /// `offset` counts the characters of the text so far.
    pub(super) fn extend(&mut self, entries: &[TokenLogprob], offset: &mut Offset) {
        for entry in entries {
            self.tokens.push(text(&entry.bytes));
            self.token_logprobs.push(finite(entry.logprob));
            self.text_offset.push(offset.characters);
            offset.advance(&entry.bytes);
            let mut ranked: Vec<(String, f32)> = Vec::new();
            for top in &entry.top {
                let token = text(&top.bytes);
                // Parts of characters look alike as text; the likeliest stands, no key comes twice.
                if !ranked.iter().any(|(seen, _)| *seen == token) {
                    ranked.push((token, finite(top.logprob)));
                }
            }
            self.top_logprobs.push(Ranked(ranked));
        }
    }
}

/// How many characters the tokens so far made.
#[derive(Debug, Default)]
pub(super) struct Offset {
    characters: u64,
    utf8: Utf8Assembler,
}

impl Offset {
    fn advance(&mut self, bytes: &[u8]) {
        let mut whole = String::new();
        self.utf8.push(bytes, &mut whole);
        self.characters += whole.chars().count() as u64;
    }
}

fn candidate(bytes: &[u8], logprob: f32) -> Candidate {
    Candidate { token: text(bytes), logprob: finite(logprob), bytes: bytes.to_vec() }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn finite(logprob: f32) -> f32 {
    // `max` gives the floor for NaN too.
    logprob.clamp(FLOOR, 0.0).max(FLOOR)
}
