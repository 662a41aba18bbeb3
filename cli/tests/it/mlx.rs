//! The plan of an mlx install as a user reads it, here on a machine that is no Mac.

use crate::command::{home, superfluid};

#[cfg(not(target_os = "macos"))]
#[test]
fn row_d4_a_machine_that_is_no_mac_is_told_why_and_nothing_is_made() {
    let (_temp, home) = home();
    for flags in [&["--dry-run"][..], &[], &["--from", "/wheels"], &["--dry-run", "--json"]] {
        let ran = superfluid(&home, &[&["runtime", "install", "mlx"], flags].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{flags:?}");
        assert!(
            ran.stderr.contains("MLX runs on Apple silicon alone, and this machine is "),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("llamacpp"), "{}", ran.stderr);
    }
    assert!(!home.exists(), "it made {}", home.display());
}

/// A home that came from a Mac: what it holds can be planned anew anywhere.
#[test]
fn a_plan_with_packages_shows_each_with_size_and_digest() {
    let (_temp, home) = home();
    let install = home.join("runtimes/mlx/0.32.1-metal");
    std::fs::create_dir_all(install.join("bin")).expect("folders");
    std::fs::write(install.join("bin/superfluid-worker-mlx"), "#!/bin/sh\n").expect("a worker");
    let source = |name: &str, from: &str, digit: &str| serde_json::json!({"name": name, "from": from, "size": 2048, "sha256": digit.repeat(64), "trust": "recipe"});
    let index = "https://mirror.example/simple/";
    let manifest = serde_json::json!({"version": "0.32.1", "backend": "metal", "sources": [
        source("cpython-3.12.14.tar.gz", "https://python.example/cpython-3.12.14.tar.gz", "a"),
        source("mlx-0.32.1-cp312-cp312-macosx_14_0_arm64.whl", index, "b"),
        source("mlx_lm-0.31.2-py3-none-any.whl", index, "c"),
    ]});
    std::fs::write(install.join("runtime.json"), manifest.to_string()).expect("a manifest");
    let ran = superfluid(&home, &["runtime", "repair", "mlx", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in [
        format!("  cpython-3.12.14.tar.gz  2.00 KiB  sha256 {} (pinned)", "a".repeat(64)),
        format!("  2 packages, 4.00 KiB, which pip takes from {index} by these digests alone:"),
        format!(
            "  mlx-0.32.1-cp312-cp312-macosx_14_0_arm64.whl  2.00 KiB  sha256 {} (pinned)",
            "b".repeat(64)
        ),
        format!("  mlx_lm-0.31.2-py3-none-any.whl  2.00 KiB  sha256 {} (pinned)", "c".repeat(64)),
    ] {
        assert!(ran.stdout.lines().any(|shown| shown == line), "no {line:?} in\n{}", ran.stdout);
    }
    assert!(ran.stdout.ends_with("nothing was fetched\n"), "{}", ran.stdout);
    let ran = superfluid(&home, &["runtime", "repair", "mlx", "--dry-run", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON alone on stdout");
    assert_eq!(plan["plans"][0]["packages"]["index"], serde_json::json!({"from": "url", "url": index}));
    assert_eq!(plan["plans"][0]["packages"]["wheels"][1]["file"], "mlx_lm-0.31.2-py3-none-any.whl");
}
