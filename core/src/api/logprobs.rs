//! A worker's log probabilities in the shapes of the two endpoints.

use super::body::{Candidate, ChatLogprob, ChatLogprobs, Ranked, TextLogprobs};
use crate::text::Utf8Assembler;
use crate::wire::{TokenLogprob, TopLogprob};
use alloc::format;
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
            let chosen = spelled(&entry.bytes);
            self.token_logprobs.push(finite(entry.logprob));
            self.text_offset.push(offset.characters);
            offset.advance(&entry.bytes);
            self.top_logprobs.push(ranked(entry, &chosen));
            self.tokens.push(chosen);
        }
    }
}

/// The alternatives, each under a key of its own. The chosen token is among them, in addition where
/// it is none of the likeliest, and has its spelling in `tokens` as its key.
fn ranked(entry: &TokenLogprob, chosen: &str) -> Ranked {
    let is_chosen = |top: &TopLogprob| top.bytes == entry.bytes && top.logprob == entry.logprob;
    let place = entry.top.iter().position(is_chosen);
    let mut ranked: Vec<(String, f32)> = Vec::with_capacity(entry.top.len() + 1);
    for (at, top) in entry.top.iter().enumerate() {
        let key = if place == Some(at) {
            chosen.into()
        } else {
            let taken = |key: &String| key == chosen || ranked.iter().any(|(other, _)| other == key);
            spellings(&top.bytes).find(|key| !taken(key)).unwrap_or_default()
        };
        ranked.push((key, finite(top.logprob)));
    }
    if place.is_none() && !ranked.is_empty() {
        ranked.push((chosen.into(), finite(entry.logprob)));
    }
    Ranked(ranked)
}

/// A token as text, or its bytes as the OpenAI API spells those that are no text: `bytes:\xe2\x80`.
fn spelled(bytes: &[u8]) -> String {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' if *byte != b'\\');
    core::str::from_utf8(bytes).map_or_else(|_| escaped(bytes, plain), String::from)
}

/// Ever other keys for the same bytes: a vocabulary may have a byte as a token and as a text.
fn spellings(bytes: &[u8]) -> impl Iterator<Item = String> {
    let again = (2_u32..).map(|nth| format!("{} ({nth})", escaped(bytes, |_| false)));
    [spelled(bytes), escaped(bytes, |_| false)].into_iter().chain(again)
}

fn escaped(bytes: &[u8], plain: impl Fn(&u8) -> bool) -> String {
    let mut key = String::from("bytes:");
    for byte in bytes {
        if plain(byte) { key.push(char::from(*byte)) } else { key += &format!("\\x{byte:02x}") }
    }
    key
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
