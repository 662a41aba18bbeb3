//! `superfluid runtime update` and `superfluid runtime repair` as a user runs them.

use crate::command::{home, pack, superfluid, superfluid_in};

#[test]
fn row_b5_a_repair_needs_neither_flags_nor_the_folder_it_was_installed_from() {
    let (temp, home) = home();
    pack(temp.path(), "own.tar.gz", "first");
    let install = ["runtime", "install", "llamacpp", "--from", "own.tar.gz", "--version", "b1", "--untested"];
    let ran = superfluid_in(temp.path(), &home, &install);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let library = home.join("runtimes/llamacpp/b1-cpu/lib/libok.so");
    std::fs::remove_file(&library).expect("it was installed");

    let ran = superfluid(&home, &["runtime", "repair", "llamacpp", "--dry-run"]);
    assert!(
        ran.stdout.contains("own.tar.gz") && ran.stdout.ends_with("nothing was fetched\n"),
        "{}",
        ran.stdout
    );
    assert!(!library.exists());
    let ran = superfluid(&home, &["runtime", "repair", "llamacpp"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "repaired: llamacpp b1-cpu, the default\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(&library).expect("it is back"), "first");

    // The archive is another one now: the install stays as it is.
    pack(temp.path(), "own.tar.gz", "second");
    let ran = superfluid(&home, &["runtime", "repair", "llamacpp", "b1-cpu"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("own.tar.gz") && ran.stderr.contains("expected"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&library).expect("it stays"), "first");
}

#[test]
fn row_b4_an_update_names_the_tested_build_for_the_defaults_backend() {
    let (temp, home) = home();
    let ran = superfluid(&home, &["runtime", "update", "llamacpp"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("superfluid runtime install llamacpp"),
        "{}",
        ran.stderr
    );
    assert!(!home.exists(), "it made {}", home.display());

    pack(temp.path(), "own.tar.gz", "first");
    let from = temp.path().join("own.tar.gz").display().to_string();
    for (version, name, want) in
        [("b9999", "b9999-cpu", "plan 1: b11284-cpu"), ("b99999", "b99999-cpu", "nothing to update")]
    {
        let install = ["runtime", "install", "llamacpp", "--from", &from, "--version", version, "--untested"];
        let ran = superfluid(&home, &install);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = superfluid(&home, &["runtime", "update", "llamacpp", "--dry-run"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(want) && ran.stdout.contains(name), "{}", ran.stdout);
    }
    let ran = superfluid(&home, &["runtime", "update", "llamacpp", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON alone on stdout");
    assert_eq!((&said["update"], &said["tested"]), (&"newest".into(), &"b11284".into()));
}
