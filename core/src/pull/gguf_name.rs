//! What a GGUF file's name says: its quantization, and which of several parts it is.

use alloc::format;
use alloc::string::{String, ToString};

/// The quantization in a GGUF file's name, in upper case: `Q4_K_M`, `IQ2_XXS`, `UD-Q4_K_XL`, `F16`.
pub fn quant(path: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = without_suffix(file)?;
    let stem = part(file).map_or(stem, |(stem, _, _)| stem);
    let words: alloc::vec::Vec<&str> = stem.split(['-', '.', ' ']).collect();
    let at = words.iter().rposition(|word| is_quant(word))?;
    let dynamic = at > 0 && words[at - 1].eq_ignore_ascii_case("UD");
    let word = words[at].to_ascii_uppercase();
    Some(if dynamic { format!("UD-{word}") } else { word })
}

/// `m-00002-of-00003.gguf`: `m`, 2 and 3.
pub(super) fn part(file: &str) -> Option<(&str, u32, u32)> {
    let stem = without_suffix(file)?;
    let (stem, all) = stem.rsplit_once("-of-")?;
    let (stem, one) = stem.rsplit_once('-')?;
    let five = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    if !five(one) || !five(all) {
        return None;
    }
    let (one, all) = (one.parse().ok()?, all.parse().ok()?);
    (one >= 1 && one <= all).then_some((stem, one, all))
}

/// A projector of images or audio, an importance matrix, a draft: no language model to serve.
pub(super) fn is_companion(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    file.contains("mmproj") || file.contains("imatrix")
}

/// The name without `.gguf`, in any case.
pub(super) fn without_suffix(file: &str) -> Option<&str> {
    let at = file.len().checked_sub(5)?;
    let (stem, suffix) = file.split_at_checked(at)?;
    suffix.eq_ignore_ascii_case(".gguf").then_some(stem)
}

fn is_quant(word: &str) -> bool {
    let upper = word.to_ascii_uppercase().to_string();
    if matches!(upper.as_str(), "F16" | "BF16" | "F32" | "FP16" | "FP32") {
        return true;
    }
    let digits = ["MXFP", "IQ", "TQ", "Q"].iter().find_map(|head| upper.strip_prefix(head));
    digits.is_some_and(|rest| {
        let mut bytes = rest.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_digit())
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && (rest.contains('_') || upper.starts_with("MXFP"))
    })
}
