//! Files that are no model: one clear message each, a failure, and nothing left behind.

use super::{assert_plain, file, home_with_llama};
use std::fs;
use std::path::Path;
use superfluid_tests::daemon::{Setup, free_port};
use superfluid_tests::things;

/// Serves a path that can't be served and returns what was said.
fn said_of(model: &Path, home: &Path) -> String {
    let ended = Setup::new(model, home).spawn(free_port()).wait_soon();
    let status =
        ended.status.unwrap_or_else(|| panic!("it went on serving {}:\n{}", model.display(), ended.stderr));
    assert!(!status.success(), "{}:\n{}", model.display(), ended.stderr);
    assert_plain(&ended.stderr);
    let name = model.file_name().expect("a name").to_string_lossy();
    assert!(ended.stderr.contains(&*name), "{name} is not named:\n{}", ended.stderr);
    ended.stderr
}

#[test]
fn a_file_that_is_no_model_is_said_to_be_what_it_is() {
    let Some(home) = home_with_llama() else { return };
    let said = said_of(Path::new("/nowhere/missing.gguf"), home.path());
    assert!(said.contains("there is no model at /nowhere/missing.gguf"), "{said}");
    for (name, bytes) in [
        ("empty.gguf", &b""[..]),
        ("page.gguf", b"<!DOCTYPE html><html><title>Sign in</title></html>"),
        ("pointer.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 98362432\n"),
        ("text.gguf", b"this is not a model\n"),
        ("magic.gguf", b"GGUF"),
    ] {
        let (_folder, path) = file(name, bytes);
        said_of(&path, home.path());
    }
}

#[test]
fn a_cut_model_is_refused() {
    let Some(model) = things::need(things::small_model()) else { return };
    let Some(home) = home_with_llama() else { return };
    let whole = fs::read(model).expect("readable");
    // Inside the description, inside the weights, and one byte short.
    for length in [100, 400_000, whole.len() / 2, whole.len() - 1] {
        let (_folder, path) = file("cut.gguf", &whole[..length]);
        said_of(&path, home.path());
    }
}

#[test]
fn a_vocabulary_without_weights_is_refused() {
    let Some(home) = home_with_llama() else { return };
    let (_folder, path) = file("vocabulary.gguf", &vocabulary_only());
    said_of(&path, home.path());
}

/// A GGUF file of a llama model with a tokenizer and no tensors.
fn vocabulary_only() -> Vec<u8> {
    let mut gguf = Gguf::default();
    gguf.text("general.architecture", "llama");
    for (key, value) in [
        ("llama.context_length", 128),
        ("llama.embedding_length", 8),
        ("llama.block_count", 1),
        ("llama.feed_forward_length", 16),
        ("llama.attention.head_count", 1),
    ] {
        gguf.number(key, value);
    }
    gguf.float("llama.attention.layer_norm_rms_epsilon", 1e-5);
    gguf.text("tokenizer.ggml.model", "gpt2");
    gguf.text("tokenizer.ggml.pre", "smollm");
    gguf.texts("tokenizer.ggml.tokens", &["<|endoftext|>", "a", "b", "ab"]);
    gguf.texts("tokenizer.ggml.merges", &["a b"]);
    gguf.number("tokenizer.ggml.bos_token_id", 0);
    gguf.number("tokenizer.ggml.eos_token_id", 0);
    gguf.finish()
}

/// The head of a GGUF file as it is written.
#[derive(Default)]
struct Gguf {
    pairs: u64,
    bytes: Vec<u8>,
}

impl Gguf {
    fn string(&mut self, text: &str) {
        self.bytes.extend((text.len() as u64).to_le_bytes());
        self.bytes.extend(text.as_bytes());
    }

    fn key(&mut self, key: &str, kind: u32) {
        self.pairs += 1;
        self.string(key);
        self.bytes.extend(kind.to_le_bytes());
    }

    fn number(&mut self, key: &str, value: u32) {
        self.key(key, 4);
        self.bytes.extend(value.to_le_bytes());
    }

    fn float(&mut self, key: &str, value: f32) {
        self.key(key, 6);
        self.bytes.extend(value.to_le_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key, 8);
        self.string(value);
    }

    fn texts(&mut self, key: &str, values: &[&str]) {
        self.key(key, 9);
        self.bytes.extend(8u32.to_le_bytes());
        self.bytes.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| self.string(value));
    }

    /// Version 3, no tensors.
    fn finish(self) -> Vec<u8> {
        let head = [&b"GGUF"[..], &3u32.to_le_bytes(), &0u64.to_le_bytes(), &self.pairs.to_le_bytes()];
        [&head.concat()[..], &self.bytes].concat()
    }
}
