//! Whether a file that says it is GGUF can be served, and what to say when not.

use super::{GgufError, Header};
use crate::refusal::Refusal;
use crate::runtime::format::{byte_part, split_names};
use alloc::format;

pub(super) fn servable(header: &Header, name: &str) -> Result<(), Refusal> {
    let kind = header.text("general.type").unwrap_or_default();
    let refuse = |message| Err(Refusal::new("not_a_language_model", message));
    if kind == "mmproj" || header.architecture() == Some("clip") {
        return refuse(format!("{name} is a vision projector (mmproj), not a language model"))
            .map_err(|refusal| refusal.hint("pass the language model it belongs to"));
    }
    if kind == "adapter" || header.keys.contains_key("adapter.type") {
        return refuse(format!("{name} is a LoRA adapter, not a model of its own"))
            .map_err(|refusal| refusal.hint("pass the base model it was made for"));
    }
    if kind == "imatrix" {
        return refuse(format!("{name} is an importance matrix, not a model"))
            .map_err(|refusal| refusal.hint("pass the model it was made for"));
    }
    if let Some((part, count)) = header.split() {
        if part != 0 {
            let refusal = Refusal::new(
                "split_model",
                format!("{name} is part {} of {count} of a split model", part.saturating_add(1)),
            );
            let first = split_names(name, count).and_then(|names| names.into_iter().next());
            return Err(match first {
                Some(first) => refusal.hint(format!("pass the first part: {first}")),
                None => refusal.hint("pass the first part"),
            });
        }
        if split_names(name, count).is_none() {
            return Err(Refusal::new(
                "split_model",
                format!("{name} is the first of {count} parts, and its name does not lead to the others"),
            )
            .hint(format!("pass it under its own name, <model>-00001-of-{count:05}.gguf")));
        }
        return Ok(());
    }
    if header.tensors.is_empty() {
        return refuse(format!("{name} holds a vocabulary alone, no weights"))
            .map_err(|refusal| refusal.hint("pass the model itself"));
    }
    if header.architecture().is_none_or(str::is_empty) {
        return Err(Refusal::new("bad_model", format!("{name} does not say its architecture"))
            .hint("convert the model again, or download it again"));
    }
    Ok(())
}

pub(super) fn refusal(error: &GgufError, name: &str) -> Refusal {
    let cut = matches!(error, GgufError::HeaderCut { .. } | GgufError::DataCut { .. });
    if byte_part(name) && (cut || *error == GgufError::Magic) {
        return Refusal::new("split_file", format!("{name} is one part of a file that was split by bytes"))
            .hint("join the parts in order with cat and pass the whole file");
    }
    let (code, hint) = match error {
        GgufError::Version(_) => ("unsupported_format", "convert the model again with a current llama.cpp"),
        GgufError::BigEndian => ("unsupported_format", "look for a little-endian download of the model"),
        GgufError::Magic => ("unsupported_format", "pass a GGUF file"),
        GgufError::HeaderCut { .. } | GgufError::DataCut { .. } => {
            ("truncated_model", "download the model again, or let the download finish")
        }
        GgufError::Broken(_) => ("bad_model", "download the model again"),
    };
    Refusal::new(code, format!("{name} cannot be served: {error}")).hint(hint)
}
