//! What a conversation says is text, whatever it spells: only the template writes control tokens.
//!
//! Before a conversation is rendered, characters of its values that a control token begins or ends
//! with (`<`, `>`, `[`, …) are swapped for stand-ins: private-use characters that neither the
//! conversation nor the template has. One character stays one character, so a template can trim, cut,
//! measure, join and compare values as before. In the text that comes out a stand-in tells a value's
//! character from the template's, whatever the template did to the value, and is swapped back; a
//! control token's spelling with such a character in it is text.
//!
//! What a template looks for in a value it must find: where a value holds a string that the template
//! has between quotes (`'</think>'`, `'<tool_response>'`), that part keeps its characters. Not so a
//! string that overlaps a control token's spelling, since the token is what the author means, and
//! no value can hold a token: a template that splits at a control token does not split a text that
//! spells it.
//!
//! A spelling with no such character at its ends (`UNK`) is marked where a value has it whole. What is
//! left to the template is a token that it makes of its own ends and a value's letters, as templates
//! do with roles: `'<|' + message.role + '|>'`.

use crate::runtime::Special;
use aho_corasick::AhoCorasick;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use superfluid_core::Refusal;

/// Where stand-ins come from: the planes for private use, which no vocabulary names tokens with.
const PRIVATE: std::ops::RangeInclusive<char> = '\u{F0000}'..='\u{10FFFD}';

/// What is marked in values, for one vocabulary and template.
#[derive(Debug)]
pub(super) struct Guard {
    /// Marked wherever a value has them.
    ends: Vec<char>,
    /// Spellings without such an end, and what is marked of each: the character at an offset.
    bare: Option<(AhoCorasick, Vec<(usize, char)>)>,
    /// Strings the template looks for.
    sought: Option<AhoCorasick>,
    /// Private characters of the template itself.
    taken: BTreeSet<char>,
}

impl Guard {
    pub(super) fn new(source: &str, specials: &[Special]) -> Self {
        let spellings: Vec<&str> = specials
            .iter()
            .filter(|s| s.is_control() && !s.text.is_empty())
            .map(|s| s.text.as_str())
            .collect();
        let (mut ends, mut bare) = (BTreeSet::new(), Vec::new());
        for spelling in &spellings {
            let strong = |c: &char| !c.is_alphanumeric() && !c.is_whitespace() && *c != '_';
            let sides = [spelling.chars().next(), spelling.chars().next_back()];
            let sides: Vec<char> = sides.into_iter().flatten().filter(strong).collect();
            ends.extend(&sides);
            if sides.is_empty() {
                let weak = spelling.char_indices().find(|(_, c)| !c.is_whitespace());
                bare.extend(weak.or_else(|| spelling.char_indices().next()).map(|at| (*spelling, at)));
            }
        }
        let sought: Vec<String> = quoted(source)
            .into_iter()
            .filter(|text| text.contains(|c| ends.contains(&c)))
            .filter(|text| !spellings.iter().any(|spelling| overlap(text, spelling)))
            .collect();
        let mut taken = BTreeSet::new();
        note_private(source, &mut taken);
        let (patterns, at): (Vec<&str>, Vec<_>) = bare.into_iter().unzip();
        Self {
            ends: ends.into_iter().collect(),
            bare: automaton(&patterns).map(|found| (found, at)),
            sought: automaton(&sought),
            taken,
        }
    }

    /// Stand-ins that `values` don't hold.
    pub(super) fn marks<'a>(&self, values: impl Iterator<Item = &'a Json>) -> Result<Marks<'_>, Refusal> {
        let mut taken = self.taken.clone();
        values.for_each(|value| each_text(value, &mut |text| note_private(text, &mut taken)));
        let mut free = PRIVATE.filter(|c| !taken.contains(c));
        let marked: BTreeSet<char> = self
            .ends
            .iter()
            .copied()
            .chain(self.bare.iter().flat_map(|(_, at)| at).map(|(_, c)| *c))
            .collect();
        let pairs = marked.into_iter().map(|c| Some((c, free.next()?))).collect::<Option<Vec<_>>>();
        match (pairs, free.next()) {
            (Some(pairs), Some(end)) => Ok(Marks { guard: self, pairs, end }),
            _ => Err(super::refusal("the conversation uses every private-use character there is".into())),
        }
    }
}

/// The stand-ins of one conversation.
#[derive(Debug)]
pub(super) struct Marks<'g> {
    guard: &'g Guard,
    /// A character, and what stands in for it.
    pairs: Vec<(char, char)>,
    /// Stands where the text ends that is to be gone on with.
    pub(super) end: char,
}

impl Marks<'_> {
    /// All stand-ins: what filters must let through.
    pub(super) fn stand_ins(&self) -> Vec<char> {
        self.pairs.iter().map(|(_, stand_in)| *stand_in).chain([self.end]).collect()
    }

    /// Marks every text in `value`, the names in objects too.
    pub(super) fn mark(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Some(marked) = self.marked(text) {
                    *text = marked;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.mark(item)),
            Json::Object(entries) => {
                if entries.keys().any(|key| self.marked(key).is_some()) {
                    let old = std::mem::take(entries);
                    *entries = Map::from_iter(
                        old.into_iter().map(|(key, value)| (self.marked(&key).unwrap_or(key), value)),
                    );
                }
                entries.values_mut().for_each(|value| self.mark(value));
            }
            _ => {}
        }
    }

    /// `text` marked; `None` where there is nothing to mark.
    fn marked(&self, text: &str) -> Option<String> {
        let bare: BTreeSet<usize> = match &self.guard.bare {
            Some((found, at)) => {
                found.find_overlapping_iter(text).map(|m| m.start() + at[m.pattern()].0).collect()
            }
            None => BTreeSet::new(),
        };
        if bare.is_empty() && !text.contains(&self.guard.ends[..]) {
            return None;
        }
        let mut sought: Vec<(usize, usize)> = match &self.guard.sought {
            Some(found) => found.find_overlapping_iter(text).map(|m| (m.start(), m.end())).collect(),
            None => Vec::new(),
        };
        sought.sort_unstable();
        let (mut sought, mut kept) = (sought.into_iter().peekable(), 0);
        let mut marked = String::with_capacity(text.len() + 64);
        for (at, c) in text.char_indices() {
            while let Some((_, end)) = sought.next_if(|(start, _)| *start <= at) {
                kept = kept.max(end);
            }
            let stand_in = (bare.contains(&at) || (at >= kept && self.guard.ends.contains(&c)))
                .then(|| self.pairs.iter().find(|(own, _)| *own == c))
                .flatten();
            marked.push(stand_in.map_or(c, |(_, stand_in)| *stand_in));
        }
        Some(marked)
    }

    /// Swaps stand-ins back.
    pub(super) fn unmark(&self, text: String) -> Rendered {
        if !may_be_private(&text) {
            return Rendered { text, marked: Vec::new() };
        }
        let mut rendered = Rendered { text: String::with_capacity(text.len()), marked: Vec::new() };
        for c in text.chars() {
            let own = PRIVATE.contains(&c).then(|| self.pairs.iter().find(|(_, stand_in)| *stand_in == c));
            match own.flatten() {
                Some((own, _)) => {
                    rendered.marked.push(rendered.text.len());
                    rendered.text.push(*own);
                }
                None => rendered.text.push(c),
            }
        }
        rendered
    }
}

/// A rendered conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Where in it, in bytes and ascending, a character stands that came from a value and could be part
    /// of a control token's spelling.
    pub marked: Vec<usize>,
}

fn automaton<T: AsRef<[u8]>>(patterns: &[T]) -> Option<AhoCorasick> {
    // Too many or too long patterns for it: none is sought, which marks more.
    if patterns.is_empty() { None } else { AhoCorasick::new(patterns).ok() }
}

/// Whether occurrences of the two can share characters.
fn overlap(a: &str, b: &str) -> bool {
    let tail_is_head = |a: &str, b: &str| a.char_indices().any(|(at, _)| b.starts_with(&a[at..]));
    a.contains(b) || b.contains(a) || tail_is_head(a, b) || tail_is_head(b, a)
}

fn each_text<'a>(value: &'a Json, then: &mut impl FnMut(&'a str)) {
    match value {
        Json::String(text) => then(text),
        Json::Array(items) => items.iter().for_each(|item| each_text(item, then)),
        Json::Object(entries) => entries.iter().for_each(|(key, value)| {
            then(key);
            each_text(value, then);
        }),
        _ => {}
    }
}

fn note_private(text: &str, taken: &mut BTreeSet<char>) {
    if may_be_private(text) {
        taken.extend(text.chars().filter(|c| PRIVATE.contains(c)));
    }
}

fn may_be_private(text: &str) -> bool {
    // The planes' characters begin with these bytes; most texts have neither.
    text.bytes().any(|byte| byte >= 0xF3)
}

/// The strings between quotes in a template's tags.
fn quoted(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let close = match rest.as_bytes().first() {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => {
                rest = rest.find("#}").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            _ => continue,
        };
        rest = &rest[1..];
        while !rest.is_empty() && !rest.starts_with(close) {
            let first = rest.chars().next().unwrap_or_default();
            rest = &rest[first.len_utf8()..];
            if first == '\'' || first == '"' {
                let (text, after) = until(rest, first);
                found.insert(text);
                rest = after;
            }
        }
    }
    found
}

/// A string's text up to its closing quote, and what follows.
fn until(rest: &str, quote: char) -> (String, &str) {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return (text, &rest[at + c.len_utf8()..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, other)) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, "")
}
