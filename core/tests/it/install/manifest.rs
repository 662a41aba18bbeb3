//! `runtime.json`.

use super::plan::{recipe, request};
use crate::host::linux;
use proptest::prelude::*;
use superfluid_core::install::{Manifest, plan};

#[test]
fn row_c2_a_manifest_says_what_an_install_is() {
    let plan = plan::plan(&request(), &linux(&[]), &recipe()).unwrap().plans.remove(0);
    let digest = plan.assets[0].sha256.clone().unwrap();
    let manifest = Manifest::of(&plan, &[(1_234, digest)], "0.1.0", 1_790_000_000);
    let json = manifest.to_json();
    insta::assert_snapshot!(json, @r#"
    {
      "version": "b11284",
      "backend": "cpu",
      "sources": [
        {
          "name": "llama-b11284-bin-ubuntu-x64.tar.gz",
          "from": "https://github.com/ggml-org/llama.cpp/releases/download/b11284/llama-b11284-bin-ubuntu-x64.tar.gz",
          "size": 1234,
          "sha256": "f53f2534e7ac8df1ef056117d215f1581feb6c426310d6423efac9adcdd5c2c8",
          "trust": "recipe"
        }
      ],
      "superfluid": "0.1.0",
      "installed_at": 1790000000
    }
    "#);
    assert_eq!(Manifest::parse(&json, "runtime.json").unwrap(), manifest);
}

#[test]
fn what_a_later_build_adds_is_kept() {
    let json = r#"{"version":"b1","backend":"cpu","sources":[],"later":{"x":[1]}}"#;
    let manifest = Manifest::parse(json, "runtime.json").unwrap();
    assert_eq!((manifest.installed_at, manifest.superfluid.as_str()), (0, ""));
    assert!(manifest.to_json().contains("\"later\""));
}

#[test]
fn a_broken_manifest_is_named() {
    for json in ["", "{", "[]", r#"{"version":7}"#] {
        let refusal = Manifest::parse(json, "/h/runtimes/llamacpp/b1-cpu/runtime.json").unwrap_err();
        assert_eq!(refusal.code, "bad_manifest");
        assert!(refusal.message.contains("b1-cpu/runtime.json") && refusal.hints[0].contains("repair"));
    }
}

proptest! {
    /// What is read is written again, whatever a later build adds; and no bytes make it panic.
    #[test]
    fn a_manifest_survives_a_round_trip(
        version in "[a-z0-9.]{1,12}",
        at: u64,
        files in prop::collection::vec(("[a-z/.]{1,20}", any::<u64>()), 0..4),
        later in "[a-z]{9,12}",
        junk in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let files: Vec<_> = files
            .iter()
            .map(|(path, size)| serde_json::json!({"path": path, "size": size, "sha256": "0".repeat(64)}))
            .collect();
        let json = serde_json::json!({
            "version": version, "backend": "cpu", "sources": [], "installed_at": at, "files": files, later: [1],
        });
        let manifest = Manifest::parse(&json.to_string(), "x").unwrap();
        prop_assert_eq!(&Manifest::parse(&manifest.to_json(), "x").unwrap(), &manifest);
        prop_assert_eq!((manifest.installed_at, manifest.files.len()), (at, files.len()));
        if let Ok(text) = core::str::from_utf8(&junk) {
            prop_assert!(Manifest::parse(text, "x").is_err());
        }
    }
}
