//! A rendered conversation's tokens.
//!
//! As a rule the whole rendering is tokenized at once, control tokens parsed. Where a value spells a
//! control token, the rendering is cut at those the template wrote, by the tokenizer's own rules, and
//! what stands between two of them is tokenized as one piece of plain text.
//!
//! Tokens that a vocabulary calls *user-defined* (often `<think>`, `<tool_call>`) are text: every
//! tokenizer finds them in plain text too, and a message that spells one gets it.

use super::guard::Rendered;
use crate::runtime::{Special, SpecialKind, Vocabulary};
use aho_corasick::AhoCorasick;
use std::cmp::Reverse;
use superfluid_core::Refusal;
use superfluid_core::sched::Token;

/// Finds a vocabulary's special tokens in texts.
#[derive(Debug)]
pub struct Specials {
    list: Vec<Special>,
    /// `None` where there are too many for one.
    automaton: Option<AhoCorasick>,
}

/// A special token's spelling, found.
#[derive(Clone, Copy)]
struct Found<'a> {
    start: usize,
    end: usize,
    special: &'a Special,
}

impl Specials {
    /// `list` is what [`Vocabulary::specials`] says.
    pub fn new(mut list: Vec<Special>) -> Self {
        list.retain(|special| !special.text.is_empty());
        let automaton = AhoCorasick::new(list.iter().map(|special| &special.text)).ok();
        Self { list, automaton }
    }

    /// The tokens that are found by their spelling.
    pub fn list(&self) -> &[Special] {
        &self.list
    }

    /// The tokens of a rendering, begin of text included where the model wants it.
    ///
    /// # Errors
    /// Those of [`Vocabulary::tokenize`], and `too_many_specials` where the vocabulary's own tokens can't
    /// be told from what a message spells.
    pub fn tokens(&self, rendered: &Rendered, vocabulary: &dyn Vocabulary) -> Result<Vec<Token>, Refusal> {
        let text = &rendered.text;
        let found = if rendered.marked.is_empty() { Vec::new() } else { self.find(text)? };
        let said = |found: &Found<'_>| {
            let next = rendered.marked.partition_point(|at| *at < found.start);
            found.special.is_control() && rendered.marked.get(next).is_some_and(|at| *at < found.end)
        };
        let (said, written): (Vec<_>, Vec<_>) = found.into_iter().partition(said);
        if said.is_empty() {
            return vocabulary.tokenize(text, true, true);
        }
        // Spellings that the tokenizer would find in plain text too are cut open.
        let mut cuts: Vec<usize> = said
            .iter()
            .filter(|found| found.special.kind == SpecialKind::Structure)
            .filter_map(|found| Some(found.start + text[found.start..].chars().next()?.len_utf8()))
            .collect();
        cuts.sort_unstable();

        let mut tokens = Vec::new();
        let plain = |start: usize, end: usize, tokens: &mut Vec<Token>| {
            let inside = cuts.partition_point(|cut| *cut <= start)..cuts.partition_point(|cut| *cut < end);
            let mut from = start;
            for to in cuts.get(inside).unwrap_or_default().iter().copied().chain([end]) {
                if from < to {
                    tokens.extend(vocabulary.tokenize(&text[from..to], false, false)?);
                }
                from = to;
            }
            Ok::<_, Refusal>(())
        };
        let (mut from, mut strip) = (0, false);
        let stripped = |from: usize, to: usize, left: bool, right: bool| {
            let mut piece = &text[from..to];
            let blank = |c: char| matches!(c, ' ' | '\t'..='\r');
            if left {
                piece = piece.trim_start_matches(blank);
            }
            let from = to - piece.len();
            (from, from + if right { piece.trim_end_matches(blank).len() } else { piece.len() })
        };
        for control in parsed(text, written).into_iter().filter(|found| found.special.is_control()) {
            let (start, end) = stripped(from, control.start, strip, control.special.lstrip);
            plain(start, end, &mut tokens)?;
            tokens.push(control.special.token);
            (from, strip) = (control.end, control.special.rstrip);
        }
        let (start, end) = stripped(from, text.len(), strip, false);
        plain(start, end, &mut tokens)?;

        let begin = vocabulary.tokenize("", true, true)?;
        if begin.first() != tokens.first() {
            tokens.splice(0..0, begin);
        }
        Ok(tokens)
    }

    fn find(&self, text: &str) -> Result<Vec<Found<'_>>, Refusal> {
        let automaton = self.automaton.as_ref().ok_or_else(|| {
            let message = format!("the model has {} special tokens, too many to look for", self.list.len());
            Refusal::new("too_many_specials", message)
        })?;
        let found = automaton.find_overlapping_iter(text);
        let found = found.map(|m| Found { start: m.start(), end: m.end(), special: &self.list[m.pattern()] });
        Ok(found.collect())
    }
}

/// Those of `found` that a tokenizer parses, in order: longer ones first, then from the left, none
/// in another.
fn parsed<'a>(text: &str, mut found: Vec<Found<'a>>) -> Vec<Found<'a>> {
    found.sort_unstable_by_key(|found| (Reverse(found.end - found.start), found.start));
    let mut taken = vec![false; text.len()];
    found.retain(|found| {
        // No taken one is shorter, so none lies between a free first and a free last byte.
        let free = !taken[found.start] && !taken[found.end - 1];
        taken[found.start..found.end].iter_mut().for_each(|byte| *byte |= free);
        free
    });
    found.sort_unstable_by_key(|found| found.start);
    found
}
