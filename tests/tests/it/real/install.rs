//! llama.cpp installed by superfluid from an archive on this machine.

use super::{done, file, home, home_with_llama, refused};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use superfluid_tests::daemon::command;
use superfluid_tests::things;

/// Every path below a folder with what it holds.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("a kind");
        let held = match () {
            () if kind.is_symlink() => {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            }
            () if kind.is_file() => fs::read(&path).expect("readable"),
            () => Vec::new(),
        };
        all.insert(path.display().to_string(), held);
        if kind.is_dir() {
            all.extend(tree(&path));
        }
    }
    all
}

#[test]
fn an_archive_becomes_an_install_that_is_the_default_one() {
    let Some(home) = home_with_llama() else { return };
    let runtime = home.path().join("runtimes/llamacpp");
    let name = format!("{}-cpu", things::llama_version());
    let install = runtime.join(&name);
    assert!(install.join("bin/superfluid-worker-llamacpp").is_file());
    let libraries: Vec<_> =
        fs::read_dir(install.join("lib")).expect("lib").flatten().map(|entry| entry.file_name()).collect();
    assert!(
        libraries.iter().any(|library| library.to_string_lossy().starts_with("libllama")),
        "{libraries:?}"
    );
    let manifest = fs::read(install.join("runtime.json")).expect("runtime.json");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(manifest["version"], things::llama_version());
    assert_eq!(manifest["backend"], "cpu");
    let sha256 = manifest["sources"][0]["sha256"].as_str().expect("a digest");
    assert_eq!(sha256.len(), 64);
    assert_eq!(fs::read_link(runtime.join("current")).expect("a link"), Path::new(&name));
    let hidden = fs::read_dir(&runtime)
        .expect("there")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    let staged: Vec<_> = hidden.filter(|entry| entry.path().is_dir()).map(|entry| entry.path()).collect();
    assert!(staged.is_empty(), "left behind: {staged:?}");

    let shown = done(&command(home.path()).arg("runtimes").output().expect("runs"));
    assert!(shown.contains(&name), "{shown}");
    done(&command(home.path()).args(["runtime", "use", "llamacpp", &name]).output().expect("runs"));
    assert!(runtime.join("pinned").exists());
    done(&command(home.path()).args(["runtime", "use", "llamacpp", "--auto"]).output().expect("runs"));
    assert!(!runtime.join("pinned").exists());
    done(&command(home.path()).args(["runtime", "remove", "llamacpp", &name]).output().expect("runs"));
    assert!(!install.exists() && fs::symlink_metadata(runtime.join("current")).is_err());
}

/// Each of these is refused, and changes nothing.
#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    let Some(archive) = things::need(things::llama_archive()) else { return };
    let Some(home) = home_with_llama() else { return };
    let before = tree(home.path());
    let (_folder, cut) = file("cut.tgz", &fs::read(&archive).expect("readable")[..200_000]);
    let (_folder, page) = file("page.tgz", b"<!DOCTYPE html><title>404</title>");
    let archive = archive.to_str().expect("text");
    let zeroes = "0".repeat(64);
    for (arguments, part) in [
        (vec!["--from", archive, "--version", "v9"], "--untested"),
        (vec!["--from", archive, "--version", "v9", "--untested", "--sha256", &zeroes], &zeroes[..]),
        (vec!["--from", archive, "--version", "v9", "--untested", "--sha256", "12"], "64"),
        (vec!["--from", cut.to_str().expect("text"), "--version", "v9", "--untested"], "cut.tgz"),
        (vec!["--from", page.to_str().expect("text"), "--version", "v9", "--untested"], "page.tgz"),
        (vec!["--from", "/nowhere/a.tgz", "--version", "v9", "--untested"], "/nowhere/a.tgz"),
        (vec!["--from", "https://127.0.0.1/a.tgz", "--version", "v9", "--untested"], "--sha256"),
        (
            vec!["--from", "http://127.0.0.1/a.tgz", "--version", "v9", "--untested", "--sha256", &zeroes],
            "https",
        ),
        (vec!["--from", archive, "--version", "../v9", "--untested"], "../v9"),
    ] {
        let mut install = command(home.path());
        let said = refused(
            &install.args(["runtime", "install", "llamacpp"]).args(&arguments).output().expect("runs"),
        );
        assert!(said.contains(part), "{arguments:?} does not say {part:?}:\n{said}");
        assert_same(&before, &tree(home.path()), &arguments);
    }
}

fn assert_same(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>, what: &[&str]) {
    let changed: Vec<&String> =
        after.iter().filter(|(path, held)| before.get(*path) != Some(held)).map(|(path, _)| path).collect();
    let gone: Vec<&String> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    assert!(changed.is_empty() && gone.is_empty(), "{what:?} changed {changed:?} and removed {gone:?}");
}

#[test]
fn libraries_with_another_c_api_are_refused_by_name() {
    let Some(archive) = things::need(things::older_llama_archive()) else { return };
    let home = home();
    let mut install = command(home.path());
    install.args(["runtime", "install", "llamacpp", "--version", "b6673", "--untested", "--from"]);
    let said = refused(&install.arg(archive).output().expect("runs"));
    assert!(said.contains("libllama"), "it does not name the library:\n{said}");
    let left = tree(home.path());
    assert!(
        !left.keys().any(|path| path.contains("b6673") || path.contains("libllama")),
        "left: {:?}",
        left.keys()
    );
}

#[test]
fn a_dry_run_prints_the_plan_and_touches_nothing() {
    let Some(archive) = things::need(things::llama_archive()) else { return };
    let home = home();
    let plan = || {
        let mut install = command(home.path());
        install.args([
            "runtime",
            "install",
            "llamacpp",
            "--dry-run",
            "--untested",
            "--version",
            "v0.5.0",
            "--from",
        ]);
        done(&install.arg(&archive).output().expect("runs"))
    };
    let first = plan();
    assert!(first.contains("v0.5.0-cpu") && first.contains(archive.to_str().expect("text")), "{first}");
    assert_eq!(first, plan());
    assert_eq!(tree(home.path()).len(), 0, "{:?}", tree(home.path()).keys());
}
