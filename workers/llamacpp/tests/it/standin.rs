//! Libraries that only look like llama.cpp: small C stand-ins, refused by name.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use superfluid_worker_llamacpp::Library;

const MODEL: &str = include_str!("standin/model_params.h");
const CONTEXT: &str = include_str!("standin/context_params.h");
const SYMBOLS: &str = include_str!("../../src/ffi/symbols.rs");

/// Every function the adapter resolves, by name.
fn functions() -> Vec<&'static str> {
    let names = SYMBOLS.lines().filter_map(|line| line.trim().split_once(": fn(")).map(|(name, _)| name);
    names.filter(|name| name.starts_with("llama_") || name.starts_with("ggml_")).collect()
}

/// Compiles a library whose two parameter structs and defaults are given, and whose every other
/// function ends the process: calling one before the check is over fails the test.
fn compile(folder: &Path, model: &str, context: &str, without: &[&str]) -> PathBuf {
    let mut source =
        String::from("#include <stdint.h>\n#include <stddef.h>\n#include <stdbool.h>\n#include <stdlib.h>\n");
    source += model;
    source += context;
    for name in functions() {
        if !name.ends_with("_default_params") && !without.contains(&name) {
            writeln!(source, "void {name}(void) {{ abort(); }}").expect("written");
        }
    }
    let file = folder.join("standin.c");
    std::fs::write(&file, source).expect("written");
    let library = folder.join("libllama.so");
    let status =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&library).arg(&file).status();
    assert!(status.expect("a C compiler, `cc`, is on PATH").success());
    library
}

fn refused(model: &str, context: &str, without: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(folder.path(), model, context, without);
    let refusal = Library::open(&library, false).err().expect("it is refused");
    assert_eq!(refusal.code, "incompatible_library");
    let named = format!("{}: this llama.cpp's C API differs from b11284's: ", library.display());
    assert!(!refusal.hints.is_empty());
    refusal.message.strip_prefix(&named).unwrap_or_else(|| panic!("{}", refusal.message)).to_owned()
}

fn changed(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

#[test]
fn a_function_that_is_missing_is_named() {
    assert_eq!(refused(MODEL, CONTEXT, &["llama_decode"]), "it lacks llama_decode");
    let two = refused(MODEL, CONTEXT, &["llama_decode", "llama_tokenize"]);
    assert_eq!(two, "it lacks llama_decode, llama_tokenize");
}

#[test]
fn a_default_that_differs_is_named() {
    let other = changed(CONTEXT, "/* n_ubatch */ 512", "/* n_ubatch */ 7");
    assert_eq!(refused(MODEL, &other, &[]), "llama_context_params.n_ubatch is 7, expected 512");
    let other = changed(CONTEXT, "/* yarn_beta_slow */ -1.0f", "/* yarn_beta_slow */ 1.0f");
    assert_eq!(refused(MODEL, &other, &[]), "llama_context_params.yarn_beta_slow is 1, expected -1");
    let other = changed(MODEL, "/* use_extra_bufts */ true", "/* use_extra_bufts */ false");
    assert_eq!(refused(&other, CONTEXT, &[]), "llama_model_params.use_extra_bufts is false, expected true");
}

#[test]
fn a_field_that_came_or_went_is_seen() {
    let other = changed(CONTEXT, "uint32_t n_rs_seq;", "");
    let other = changed(&other, "/* n_rs_seq */ 0,", "");
    assert_eq!(refused(MODEL, &other, &[]), "llama_context_params.n_outputs_max is 1, expected 0");
    let other = changed(CONTEXT, "void * ctx_other;", "void * ctx_other; void * newer;");
    assert_eq!(refused(MODEL, &other, &[]), "llama_context_params has 168 bytes, expected 160");
    let other = changed(CONTEXT, "void * ctx_other;", "");
    let other = changed(&other, "/* ctx_other */ NULL,", "");
    assert_eq!(
        refused(MODEL, &other, &[]),
        "llama_context_params has 152 bytes and no ctx_other, expected 160"
    );
}

#[test]
fn a_struct_small_enough_for_registers_is_seen() {
    let small = "struct llama_model_params { int32_t n; }; struct llama_model_params llama_model_default_params(void) { struct llama_model_params p = { 1 }; return p; }\n";
    assert_eq!(refused(small, CONTEXT, &[]), "llama_model_params has 0 bytes and no devices, expected 80");
}
