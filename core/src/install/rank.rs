//! Which install is the default: the pinned one, else the best-ranked.
//!
//! A GPU backend comes before cpu, then the newest version, then the backend's place in the
//! specification's list. Versions compare part by part, digits as numbers of any length.

use super::{InstallName, Manifest};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// GPU backends in the specification's order; a tie between versions goes to the earlier one.
pub const GPU_BACKENDS: [&str; 6] = ["metal", "cuda", "rocm", "vulkan", "sycl", "openvino"];

/// An install found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its directory.
    pub name: InstallName,
    /// Its `runtime.json`; `None` when it is missing or unreadable, which keeps the install from
    /// being the default.
    pub manifest: Option<Manifest>,
}

/// The default install: the pinned one if it is there, else the best-ranked whole one.
pub fn default_install<'a>(installs: &'a [Installed], pinned: Option<&InstallName>) -> Option<&'a Installed> {
    let pinned = installs.iter().find(|install| Some(&install.name) == pinned);
    let whole = installs.iter().filter(|install| install.manifest.is_some());
    pinned.or_else(|| whole.min_by(|a, b| compare(&a.name, &b.name)))
}

/// Best first. Names that are not `<version>-<backend>` come last; equal only to itself.
pub fn compare(a: &InstallName, b: &InstallName) -> Ordering {
    let (a_key, b_key) = (Key::of(a), Key::of(b));
    a_key
        .class
        .cmp(&b_key.class)
        .then_with(|| b_key.version.cmp(&a_key.version))
        .then_with(|| a_key.backend.cmp(&b_key.backend))
        .then_with(|| a.cmp(b))
}

/// Older first: the order of versions of one project.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    parts(a).cmp(&parts(b))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Gpu,
    Cpu,
    Odd,
}

struct Key {
    class: Class,
    version: Vec<Part>,
    backend: usize,
}

impl Key {
    fn of(name: &InstallName) -> Self {
        let (version, backend) = name.as_str().rsplit_once('-').unwrap_or((name.as_str(), ""));
        let gpu = GPU_BACKENDS.iter().position(|&gpu| gpu == backend);
        let numbered = version.bytes().any(|b| b.is_ascii_digit());
        let class = match gpu {
            Some(_) if numbered => Class::Gpu,
            None if numbered && backend == "cpu" => Class::Cpu,
            _ => Class::Odd,
        };
        Self { class, version: parts(version), backend: gpu.unwrap_or(GPU_BACKENDS.len()) }
    }
}

/// A piece of a version. The order of the variants is the order of versions: `1.0-rc1` is older
/// than `1.0`, which is older than `1.0.1`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(String),
    End,
    /// Without leading zeros, so that the longer number is the greater one.
    Number(usize, String),
}

fn parts(version: &str) -> Vec<Part> {
    let bytes = version.as_bytes();
    // The one letter in front of a build number or a tag (`b11284`, `v0.5.0`) says nothing.
    let prefixed = bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1].is_ascii_digit();
    let mut rest = if prefixed { &version[1..] } else { version };
    let mut parts = Vec::new();
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let same = |c: char| {
            if digits { c.is_ascii_digit() } else { !c.is_ascii_digit() && !separator(c) }
        };
        if separator(first) {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        parts.push(if digits {
            let number = piece.trim_start_matches('0');
            Part::Number(number.len(), number.into())
        } else {
            Part::Text(piece.into())
        });
    }
    parts.push(Part::End);
    parts
}

const fn separator(c: char) -> bool {
    matches!(c, '.' | '_' | '+' | '-')
}
