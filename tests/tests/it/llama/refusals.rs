//! What is no model or no fitting library, refused in words; and libraries that lie in the way.

use super::given;
use std::fs;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::wire::LoadSpec;
use superfluid_tests::things;
use superfluid_worker_kit::Runtime;
use superfluid_worker_llamacpp::{LlamaRuntime, Places};

fn refused(model: &Path) -> Option<Refusal> {
    let mut runtime = given::runtime()?;
    let spec = LoadSpec {
        model: model.display().to_string(),
        max_batch: 1,
        max_context: Some(512),
        ..LoadSpec::default()
    };
    let refusal = runtime.load(&spec, &mut |_| true).err().expect("it is refused");
    assert!(refusal.message.contains(&*model.display().to_string()), "{}", refusal.message);
    assert!(!refusal.hints.is_empty());
    Some(refusal)
}

#[test]
fn a_build_with_another_c_api_is_refused_by_name() {
    let Some(archive) = things::need(things::older_llama_archive()) else { return };
    let folder = given::unpacked(&archive);
    let mut runtime = LlamaRuntime::new(Places { variable: Some(folder.clone()), ..Places::default() });
    let refusal = runtime.check(None).expect_err("it is refused");
    assert_eq!(refusal.code, "incompatible_library");
    let named =
        format!("{}: this llama.cpp's C API differs from b11284's: ", folder.join("libllama.so").display());
    assert!(refusal.message.starts_with(&named), "{}", refusal.message);
}

#[test]
fn case_m01_a_model_that_was_cut_short_is_refused() {
    let Some(whole) = things::need(things::small_model()) else { return };
    let bytes = fs::read(whole).expect("the model is read");
    let home = tempfile::tempdir().expect("a folder");
    for length in [0, 4, 100, 2_000_000, bytes.len() / 2, bytes.len() - 1] {
        let cut = home.path().join("cut.gguf");
        fs::write(&cut, &bytes[..length]).expect("written");
        let Some(refusal) = refused(&cut) else { return };
        assert_eq!(refusal.code, "truncated_model", "{length}");
    }
}

#[test]
fn case_m02_what_is_no_model_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let page = home.path().join("model.gguf");
    fs::write(&page, "<!DOCTYPE html><title>Sign in</title>").expect("written");
    let Some(refusal) = refused(&page) else { return };
    assert_eq!(refusal.code, "unsupported_format");
    for path in [home.path().join("missing.gguf"), home.path().to_path_buf()] {
        assert_eq!(refused(&path).map(|refusal| refusal.code).as_deref(), Some("model_not_readable"));
    }
}

/// A GGUF file of text keys and no tensors.
fn header(path: &Path, keys: &[(&str, &str)]) {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut bytes = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend((keys.len() as u64).to_le_bytes());
    for (key, value) in keys {
        bytes.extend([text(key), 8u32.to_le_bytes().to_vec(), text(value)].concat());
    }
    fs::write(path, bytes).expect("written");
}

#[test]
fn case_m05_m06_what_is_no_language_model_is_named() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("model.gguf");
    for (keys, what) in [
        (&[("general.architecture", "clip"), ("general.type", "mmproj")][..], "is a vision projector"),
        (
            &[("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")],
            "is a LoRA adapter",
        ),
        (&[("general.architecture", "llama")], "holds a vocabulary alone"),
    ] {
        header(&path, keys);
        let Some(refusal) = refused(&path) else { return };
        assert_eq!(refusal.code, "not_a_language_model");
        assert!(refusal.message.contains(what), "{}", refusal.message);
    }
}

#[test]
fn a_model_whose_tensors_are_missing_is_refused_by_the_first() {
    let home = tempfile::tempdir().expect("a folder");
    let Some(path) = with(home.path(), b"blk.7.attn_q.weight", b"blk.7.nobody.weight") else { return };
    let Some(refusal) = refused(&path) else { return };
    assert!(refusal.message.contains("blk.7.attn_q.weight"), "{}", refusal.message);
}

/// The small model's file with a metadata string of the same length changed.
fn with(home: &Path, from: &[u8], to: &[u8]) -> Option<std::path::PathBuf> {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(things::need(things::small_model())?).expect("the model is read");
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the string is there");
    bytes[at..at + to.len()].copy_from_slice(to);
    let path = home.join("changed.gguf");
    fs::write(&path, bytes).expect("written");
    Some(path)
}

#[test]
fn case_m10_an_unknown_architecture_is_its_own_error() {
    let home = tempfile::tempdir().expect("a folder");
    let Some(path) = with(home.path(), b"llama", b"newmo") else { return };
    let Some(refusal) = refused(&path) else { return };
    assert!(refusal.message.contains("unknown model architecture: 'newmo'"), "{}", refusal.message);
    assert!(refusal.hints[0].contains("superfluid runtime update llamacpp"), "{:?}", refusal.hints);
}

#[test]
fn case_w03_stray_libraries_on_the_path_and_in_the_folder_are_not_opened() {
    let Some(folder) = given::library_folder() else { return };
    let stray = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(&folder).expect("the folder is read") {
        let name = entry.expect("an entry").file_name();
        fs::write(stray.path().join(name), "not a library").expect("written");
    }
    // The loader reads LD_LIBRARY_PATH when a process starts: so this test once more, in one.
    let output = std::process::Command::new(std::env::current_exe().expect("a test binary"))
        .args(["--exact", "llama::refusals::a_library_loads", "--ignored"])
        .current_dir(stray.path())
        .env("LD_LIBRARY_PATH", stray.path())
        .env("SUPERFLUID_TEST_CACHE", superfluid_tests::cache())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "the other half of case_w03"]
fn a_library_loads() {
    let Some(mut runtime) = given::runtime() else { return };
    let report = runtime.check(None).expect("the check passes");
    assert!(report.devices.iter().any(|device| device.carries("cpu")));
    let own = given::library_folder().expect("it was there");
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loaded = maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| format!("/{path}"));
    for path in loaded.filter(|path| path.contains("ggml") || path.contains("libllama")) {
        assert!(Path::new(&path).starts_with(&own), "{path}");
    }
}
