//! JSON as Python's `json.dumps` writes it, byte for byte: models are trained on that text.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use serde_json::Value as Json;
use std::fmt::Write;

/// Depth a value may have; a template can tie values into a loop.
const MAX_DEPTH: usize = 128;

/// The arguments of `json.dumps`.
pub(super) struct Style<'a> {
    pub(super) indent: Option<usize>,
    /// Between items, and between a key and its value.
    pub(super) separators: Option<[String; 2]>,
    pub(super) ascii: bool,
    /// Written as they are, `ascii` or not.
    pub(super) kept: &'a [char],
    pub(super) sorted: bool,
}

/// `value` as text. The work is charged to the render as it is done.
pub(super) fn dumps(state: &State, value: &Value, style: &Style<'_>) -> Result<String, Error> {
    let plain = if style.indent.is_some() { "," } else { ", " };
    let [item, key] = match &style.separators {
        Some([item, key]) => [item.as_str(), key.as_str()],
        None => [plain, ": "],
    };
    let mut writer = Writer { out: String::new(), charged: 0, state, style, item, key };
    writer.value(value, 0)?;
    Ok(writer.out)
}

/// Bytes of text a value holds, roughly: what a template can loop over.
pub(crate) fn size(value: &Json) -> usize {
    match value {
        Json::String(text) => 2 + text.len(),
        Json::Array(items) => 2 + items.iter().map(size).sum::<usize>(),
        Json::Object(entries) => 2 + entries.iter().map(|(k, v)| k.len() + size(v)).sum::<usize>(),
        _ => 4,
    }
}

/// At most `most` characters of `text`.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

struct Writer<'a> {
    out: String,
    charged: usize,
    state: &'a State<'a, 'a>,
    style: &'a Style<'a>,
    item: &'a str,
    key: &'a str,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::BadSerialization, "tojson: the value is nested too deep"));
        }
        self.charge()?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?;
                self.container(['[', ']'], items, depth, |writer, item| writer.value(&item, depth + 1))?;
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for key in value.try_iter()? {
                    entries.push((key_text(&key)?, value.get_item(&key)?));
                }
                if self.style.sorted {
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                }
                self.container(['{', '}'], entries.into_iter(), depth, |writer, (name, value)| {
                    writer.string(&name);
                    writer.out.push_str(writer.key);
                    writer.value(&value, depth + 1)
                })?;
            }
            kind => {
                let message = format!("tojson: a value of type {kind} is not JSON");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        Ok(())
    }

    fn container<T>(
        &mut self,
        [open, close]: [char; 2],
        items: impl Iterator<Item = T>,
        depth: usize,
        write: impl Fn(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.push(open);
        let mut empty = true;
        for item in items {
            if !empty {
                self.out.push_str(self.item);
            }
            empty = false;
            self.line(depth + 1);
            write(self, item)?;
        }
        if !empty {
            self.line(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = self.style.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent.min(64) * depth));
        }
    }

    fn number(&mut self, value: &Value) {
        match f64::try_from(value.clone()) {
            Ok(number) if !value.is_integer() => self.out.push_str(&float(number)),
            _ => {
                let _ = write!(self.out, "{value}");
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if self.style.kept.contains(&c) => self.out.push(c),
                c if c < ' ' || (self.style.ascii && (!c.is_ascii() || c == '\u{7f}')) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Pays for what was written since the last call.
    fn charge(&mut self) -> Result<(), Error> {
        let grown = (self.out.len() - self.charged) / 64;
        self.charged += grown * 64;
        self.state.consume_fuel(1 + grown as u64)
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().into()),
        ValueKind::None => Ok("null".into()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.into()),
        ValueKind::Number => Ok(key.to_string()),
        kind => {
            let message = format!("tojson: a value of type {kind} cannot be a key");
            Err(Error::new(ErrorKind::BadSerialization, message))
        }
    }
}

/// Python's `repr` of a float: the shortest digits that read back, an exponent from 1e16 on and
/// below 1e-4.
fn float(number: f64) -> String {
    if !number.is_finite() {
        let name = if number.is_nan() { "NaN" } else { "Infinity" };
        return if number < 0.0 { format!("-{name}") } else { name.into() };
    }
    let size = number.abs();
    if number == 0.0 || (1e-4..1e16).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}
