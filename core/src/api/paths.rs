//! Keeps absolute paths out of what clients are told and what is logged.

use alloc::string::String;

/// Paths of this API, which are no files.
const OURS: [&str; 4] = ["/v1", "/health", "/ready", "/metrics"];

/// `text` with each absolute path cut down to its last part: `/home/ann/m.gguf` is `m.gguf`. A path
/// may hold spaces in quotes, and in its folders' names. URLs other than `file:`, this API's own paths, and
/// relative ones (`../m.gguf`, `~/m.gguf`) stay.
pub fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = path_end(&out, from);
        let (path, after) = from.split_at(end);
        let url = before.ends_with(':') && path.starts_with("//") && !before.ends_with("file:");
        if url || is_relative(&out) {
            out.push_str(path);
        } else if out.ends_with(char::is_alphanumeric) || path.len() < 2 || is_ours(path) {
            // "and/or", a lone slash, or one of our own paths; look on after it.
            let keep = if is_ours(path) { path.len() } else { 1 };
            out.push_str(&path[..keep]);
            rest = &from[keep..];
            continue;
        } else {
            out.push_str(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where the path that starts `from` ends, given what stands before it.
fn path_end(before: &str, from: &str) -> usize {
    let quoted = match before.chars().next_back() {
        Some(quote @ ('\'' | '"' | '`')) => from.find(quote),
        _ => None,
    };
    let mut end = quoted.unwrap_or_else(|| word_end(from));
    while quoted.is_none()
        && !is_ours(&from[..end])
        && let Some(further) = goes_on(from, end)
    {
        end = further;
    }
    end
}

/// A folder's name may hold spaces: where the word so far is no file by its look and one of the
/// next three words goes on with a slash, the path goes on to that word's end.
fn goes_on(from: &str, end: usize) -> Option<usize> {
    let last = from[..end].rsplit('/').next().unwrap_or_default();
    if last.contains('.') || last.is_empty() {
        return None;
    }
    let mut at = end;
    for _ in 0..3 {
        let word = from[at..].strip_prefix(' ')?;
        let length = word_end(word);
        at += 1 + length;
        match word[..length].find('/') {
            Some(0) => return None,
            Some(_) => return Some(at),
            None => {}
        }
    }
    None
}

/// Whether what stands before a slash begins a path from here or from home.
fn is_relative(before: &str) -> bool {
    before.rsplit(ends_path).next().is_some_and(|word| matches!(word, "." | ".." | "~"))
}

fn word_end(text: &str) -> usize {
    text.find(ends_path).unwrap_or(text.len())
}

fn ends_path(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ';' | '(' | ')' | '<' | '>' | ':')
}

fn is_ours(path: &str) -> bool {
    OURS.iter()
        .any(|ours| path.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}
