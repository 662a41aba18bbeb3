//! What a file that is no model looks like.

use super::{Verdict, names};
use alloc::format;
use alloc::string::String;

const AGAIN: &str = "download the model again; the address may need a login or be wrong";
const UNPACK: &str = "unpack it and pass the model in it";
const CONVERT: &str = "convert it to GGUF, or look for a GGUF download of the model";

pub(super) fn looks(name: &str, size: u64, head: &[u8]) -> Verdict {
    let (what, hint) = describe(name, size, head);
    Verdict::Foreign { what, hint: hint.into() }
}

fn describe(name: &str, size: u64, head: &[u8]) -> (String, &'static str) {
    if size == 0 || head.is_empty() {
        return ("an empty file".into(), AGAIN);
    }
    if names::byte_part(name) {
        return (
            "one part of a file that was split by bytes".into(),
            "join the parts in order with cat and pass the whole file",
        );
    }
    let text = text_start(head);
    for (magic, what, hint) in MAGICS {
        if head.starts_with(magic) {
            return (what.into(), hint);
        }
    }
    if head.get(257..262) == Some(b"ustar") {
        return ("a tar archive".into(), UNPACK);
    }
    if safetensors(size, head) {
        return ("a safetensors file".into(), "pass the directory it lies in, or a GGUF of the model");
    }
    let starts =
        |what: &str| text.get(..what.len()).is_some_and(|start| start.eq_ignore_ascii_case(what.as_bytes()));
    if starts("version https://git-lfs.github.com/spec/") {
        let hint = "git lfs pull fetches what it points to";
        return ("a Git LFS pointer, not the file itself".into(), hint);
    }
    if starts("<!doctype html") || starts("<html") || starts("<head") {
        return ("an HTML page, as a download saves when it was sent elsewhere".into(), AGAIN);
    }
    if starts("<?xml") {
        return ("an XML document".into(), AGAIN);
    }
    if starts("{") || starts("[") {
        return ("a JSON text".into(), AGAIN);
    }
    if size < 4 {
        return (format!("a file of {size} bytes"), AGAIN);
    }
    let start: String = head.iter().take(4).flat_map(|b| b.escape_ascii().map(char::from)).collect();
    (format!("a file of unknown kind, starting with \"{start}\""), CONVERT)
}

/// llama.cpp's formats before GGUF are numbers on disk, so their letters stand backwards.
const MAGICS: [(&[u8], &str, &str); 17] = [
    (b"lmgg", "a GGML file, a format before GGUF", CONVERT),
    (b"ggml", "a GGML file, a format before GGUF", CONVERT),
    (b"fmgg", "a GGMF file, a format before GGUF", CONVERT),
    (b"ggmf", "a GGMF file, a format before GGUF", CONVERT),
    (b"tjgg", "a GGJT file, a format before GGUF", CONVERT),
    (b"ggjt", "a GGJT file, a format before GGUF", CONVERT),
    (
        b"algg",
        "a LoRA adapter of a format before GGUF",
        "pass the base model; an adapter is no model of its own",
    ),
    (
        b"ggla",
        "a LoRA adapter of a format before GGUF",
        "pass the base model; an adapter is no model of its own",
    ),
    (b"FUGG", "a GGUF file whose bytes are swapped", AGAIN),
    (b"PK\x03\x04", "a zip archive (PyTorch checkpoints are zip archives too)", UNPACK),
    (b"\x1f\x8b", "a gzip archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"\xfd7zXZ\x00", "an xz archive", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"\x7fELF", "a program or library", "pass a model"),
    (b"\x89HDF", "an HDF5 file", CONVERT),
];

/// The bytes after a byte order mark and white space.
fn text_start(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

/// A length, then that many bytes of JSON.
fn safetensors(size: u64, head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first_chunk::<8>() else { return false };
    let end = u64::from_le_bytes(*length).checked_add(8);
    rest.first() == Some(&b'{') && end.is_some_and(|end| end <= size)
}
