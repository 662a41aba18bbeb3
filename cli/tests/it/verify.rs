//! `superfluid runtime verify` as a user runs it.

use crate::command::{home, pack, superfluid};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn what_changed_on_disk_is_named_and_repaired() {
    let (temp, home) = home();
    let ran = superfluid(&home, &["runtime", "verify"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing is installed\n"));
    assert_eq!(superfluid(&home, &["runtime", "verify", "llamacpp"]).code, Some(1));
    assert!(!home.exists(), "looking made {}", home.display());

    pack(temp.path(), "own.tar.gz", "first");
    let from = temp.path().join("own.tar.gz").display().to_string();
    let install = ["runtime", "install", "llamacpp", "--from", &from, "--version", "b1", "--untested"];
    assert_eq!(superfluid(&home, &install).code, Some(0));
    let whole = superfluid(&home, &["runtime", "verify"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "llamacpp b1-cpu: unchanged, 2 files\n"));

    let dir = home.join("runtimes/llamacpp/b1-cpu");
    std::fs::write(dir.join("lib/libok.so"), "other").expect("written");
    symlink("/etc/passwd", dir.join("lib/extra")).expect("a link");
    let worker = dir.join("bin/superfluid-worker-llamacpp");
    std::fs::set_permissions(&worker, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let ran = superfluid(&home, &["runtime", "verify", "llamacpp", "b1-cpu"]);
    assert_eq!(ran.code, Some(1));
    for line in [
        "  changed  bin/superfluid-worker-llamacpp may not be run any more\n",
        "  extra    lib/extra\n",
        "  changed  lib/libok.so has the SHA-256 ",
    ] {
        assert!(ran.stdout.contains(line), "{line:?} in {}", ran.stdout);
    }
    let ran = superfluid(&home, &["runtime", "verify", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON alone on stdout");
    assert_eq!(
        (ran.code, &said[0]["state"], &said[0]["install"]),
        (Some(1), &"changed".into(), &"b1-cpu".into())
    );
    assert_eq!(said[0]["changes"].as_array().map(Vec::len), Some(3));

    assert_eq!(superfluid(&home, &["runtime", "repair", "llamacpp"]).code, Some(0));
    assert_eq!(superfluid(&home, &["runtime", "verify"]).stdout, whole.stdout);

    // Without a readable record nothing can be said, and that is no good news.
    std::fs::write(dir.join("runtime.json"), "{").expect("written");
    let ran = superfluid(&home, &["runtime", "verify"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("cannot be verified"), "{}", ran.stdout);
    assert_eq!(superfluid(&home, &["runtime", "verify", "llamacpp", "b2-cpu"]).code, Some(1));
}
