//! What names say where bytes cannot: parts of a split file, ids of a hub.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Whether a name is that of one part of a file split by bytes: `m.gguf.part1of2`,
/// `m.gguf-split-a`, `m.gguf.part-aa`.
pub fn byte_part(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let file = lower.rsplit('/').next().unwrap_or_default();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let rests = [".part", "-part", "_part", ".split", "-split"]
        .iter()
        .filter_map(|mark| file.rsplit_once(mark).map(|(_, rest)| rest));
    rests.into_iter().any(|rest| {
        let bare = rest.trim_start_matches(['-', '_', '.']);
        // Two letters are what `split` appends; more of them without a dash are a word.
        let most = if bare.len() < rest.len() { 3 } else { 2 };
        let letters = !bare.is_empty() && bare.len() <= most && bare.bytes().all(|b| b.is_ascii_lowercase());
        match bare.split_once("of") {
            Some((one, all)) => number(one) && number(all),
            None => number(bare) || letters,
        }
    })
}

/// The names of every part of a model split into GGUF files, beside the one given:
/// `m-00001-of-00003.gguf`. `None` for a name not built so.
pub fn split_names(name: &str, count: u64) -> Option<Vec<String>> {
    let (stem, suffix) = match name.len().checked_sub(5).filter(|&at| name.is_char_boundary(at)) {
        Some(at) if name[at..].eq_ignore_ascii_case(".gguf") => name.split_at(at),
        _ => return None,
    };
    let (stem, all) = stem.rsplit_once("-of-")?;
    let (stem, one) = stem.rsplit_once('-')?;
    let five = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    if !five(all) || !five(one) || all.parse() != Ok(count) {
        return None;
    }
    Some((1..=count).map(|part| format!("{stem}-{part:05}-of-{all}{suffix}")).collect())
}

/// Whether a file's name is that of a model, a part of one or an unfinished download of one, whatever is
/// in it.
pub fn model_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains(".gguf") || [".base", ".ggml", ".safetensors"].iter().any(|end| lower.ends_with(end))
}

/// Whether a text that is no path here reads as a model's id in a hub: `org/name`, perhaps with
/// `:variant`.
pub fn hub_id(text: &str) -> bool {
    let (path, variant) = text.split_once(':').map_or((text, None), |(path, variant)| (path, Some(variant)));
    let plain = |part: &str| {
        part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
            && part.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && part.len() <= 96
    };
    let lower = path.to_ascii_lowercase();
    path.split('/').count() == 2
        && path.split('/').all(plain)
        && variant.is_none_or(plain)
        && !lower.ends_with(".gguf")
        && !lower.ends_with(".base")
}
