//! Keeps absolute paths out of what clients are told.

use alloc::string::String;

/// Paths of this API, which are no files.
const OURS: [&str; 3] = ["/v1", "/health", "/metrics"];

/// `text` with each absolute path cut down to its last part: `/home/ann/m.gguf` is `m.gguf`. A path
/// in quotes may hold spaces. URLs other than `file:` and this API's own paths stay.
pub(super) fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = path_end(&out, from);
        let (path, after) = from.split_at(end);
        if before.ends_with(':') && path.starts_with("//") && !before.ends_with("file:") {
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
    quoted.or_else(|| from.find(ends_path)).unwrap_or(from.len())
}

fn ends_path(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ';' | '(' | ')' | '<' | '>' | ':')
}

fn is_ours(path: &str) -> bool {
    OURS.iter()
        .any(|ours| path.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}
