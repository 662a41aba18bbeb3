//! The repository's own text files, and Rust code without its comments and literals.

use std::fs;
use std::io;
use std::path::Path;

/// One file.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the repository's root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// Whether the length law applies.
    pub fn is_code(&self) -> bool {
        [".rs", ".py", ".c", ".h", ".sh"].iter().any(|ending| self.path.ends_with(ending))
    }
}

/// Every text file that is the repository's own: build outputs, caches, lock files and links left out.
pub fn sources(repository: &Path) -> io::Result<Vec<Source>> {
    let mut all = Vec::new();
    walk(repository, "", &mut all)?;
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn walk(folder: &Path, prefix: &str, all: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        // A folder of build outputs says so itself, wherever CARGO_TARGET_DIR puts it.
        let skipped = matches!(name.as_str(), ".git" | ".cache" | "target" | "corpus" | "artifacts")
            || name == "__pycache__"
            || entry.path().join("CACHEDIR.TAG").exists();
        if kind.is_dir() && !skipped {
            walk(&entry.path(), &format!("{path}/"), all)?;
        } else if kind.is_file()
            && name != "Cargo.lock"
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            all.push(Source { path, text });
        }
    }
    Ok(())
}

/// Rust source with comments and what stands between quotes left out.
pub fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'r' | 'b' | 'c' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skip == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skip..];
        }
    }
    code
}

/// Bytes of the comment, which may hold others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        let step = if here.starts_with(b"/*") {
            depth += 1;
            2
        } else if here.starts_with(b"*/") {
            depth -= 1;
            2
        } else {
            1
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Bytes of a string, its quotes included.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of `r"…"`, `br#"…"#` and their like; 0 where the letter starts something else.
fn raw_string(rest: &str) -> usize {
    let prefix = if rest.starts_with(['b', 'c']) { 2 } else { 1 };
    let Some(after) = rest.get(prefix..).filter(|_| rest[..prefix].ends_with('r')) else { return 0 };
    let hashes = after.bytes().take_while(|b| *b == b'#').count();
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = prefix + hashes + 1;
    rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len())
}

/// Bytes of a character literal; 0 where the quote starts a lifetime.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => {
            // The escaped character itself may be a quote.
            let from = 1 + inside.nth(1).map_or(rest.len() - 1, |(at, _)| at);
            rest[from..].find('\'').map_or(rest.len(), |at| from + at + 1)
        }
        Some(_) => match inside.next() {
            Some((at, '\'')) => 1 + at + 1,
            _ => 0,
        },
        None => 0,
    }
}
