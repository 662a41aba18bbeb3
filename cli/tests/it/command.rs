//! The shipped command, run in a home of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a run of the command did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn superfluid(home: &Path, args: &[&str]) -> Ran {
    superfluid_in(Path::new("."), home, args)
}

/// The same from another current folder.
pub(crate) fn superfluid_in(folder: &Path, home: &Path, args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_superfluid"))
        .args(args)
        .current_dir(folder)
        .env("SUPERFLUID_HOME", home)
        .env_remove("SUPERFLUID_WORKER_LLAMACPP")
        .env_remove("SUPERFLUID_LLAMA_LIB")
        .output()
        .expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

pub(crate) fn home() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().expect("a folder");
    let home = temp.path().join("home");
    (temp, home)
}

/// Packs an install whose worker finds a CPU and whose library holds `library`.
pub(crate) fn pack(folder: &Path, name: &str, library: &str) {
    pack_worker(folder, name, library, ":");
}

/// The same with what its worker does first.
pub(crate) fn pack_worker(folder: &Path, name: &str, library: &str, first: &str) {
    let report = r#"{"runtime":"llamacpp","worker":"0","protocol":1,"version":"b","formats":["gguf"],"devices":[{"backend":"cpu","name":"D","kind":"cpu","memory_total":0,"memory_free":0}],"capabilities":{}}"#;
    let (bin, lib) = (folder.join("sf/bin"), folder.join("sf/lib"));
    std::fs::create_dir_all(&bin).and_then(|()| std::fs::create_dir_all(&lib)).expect("folders");
    let worker = bin.join("superfluid-worker-llamacpp");
    std::fs::write(&worker, format!("#!/bin/sh\n{first}\necho '{report}'\n")).expect("a worker");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&worker, mode).expect("it may run");
    std::fs::write(lib.join("libok.so"), library).expect("a library");
    let tar = Command::new("tar").args(["czf", name, "sf"]).current_dir(folder).status();
    assert!(tar.expect("tar runs").success());
}
