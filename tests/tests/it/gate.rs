//! The gate passes on this repository, and each of its checks can fail.

use std::fs;
use std::path::Path;
use superfluid_tests::gate::{self, Source};

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn sources_keep_the_laws() {
    none(&gate::check_sources(superfluid_tests::repository()));
}

#[test]
fn packages_depend_downwards_only() {
    none(&gate::foreign_imports(superfluid_tests::repository()));
}

#[test]
fn core_compiles_without_std() {
    none(&gate::core_reaches_std(superfluid_tests::repository()));
}

#[test]
fn the_check_without_std_fails_for_a_package_that_reaches_it() {
    let clean = package_without_std("#![no_std]\nextern crate alloc;\npub use alloc::vec::Vec;\n");
    none(&clean);
    let faults = package_without_std("#![no_std]\nextern crate std;\npub use std::vec::Vec;\n");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("E0463") && faults[0].contains("`std`"), "{}", faults[0]);
}

fn package_without_std(lib: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let manifest = "[package]\nname = \"probe\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir(folder.path().join("src")).expect("src");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("Cargo.toml");
    fs::write(folder.path().join("src/lib.rs"), lib).expect("lib.rs");
    gate::reaches_std(folder.path(), "probe", &folder.path().join("target"))
}

fn faults_of(path: &str, text: &str) -> Vec<String> {
    gate::check_source(&Source { path: path.into(), text: text.into() })
}

#[test]
fn a_long_file_is_found_and_a_long_table_of_data_is_not() {
    none(&faults_of("core/src/a.rs", &"//\n".repeat(600)));
    assert_eq!(faults_of("core/src/a.rs", &"//\n".repeat(601)).len(), 1);
    assert_eq!(faults_of("tests/a.py", &"#\n".repeat(601)).len(), 1);
    none(&faults_of("core/src/recipe.json", &"\n".repeat(601)));
}

#[test]
fn unsafe_code_is_found_outside_ffi_and_the_word_elsewhere_is_not() {
    let block = "fn f() { unsafe { g() } }";
    for path in
        ["core/src/a.rs", "workers/kit/src/a.rs", "workers/llamacpp/src/load.rs", "tests/src/ffi/a.rs"]
    {
        assert_eq!(faults_of(path, block).len(), 1, "{path}");
    }
    for path in ["workers/llamacpp/src/ffi.rs", "workers/mlx/src/ffi/call.rs"] {
        none(&faults_of(path, block));
    }
    for harmless in [
        "// unsafe\n",
        "/* unsafe /* unsafe */ unsafe */",
        "const A: &str = \"unsafe \\\" unsafe\";",
        "const A: &str = r#\"unsafe \" unsafe\"#; const B: &[u8] = br\"unsafe\";",
        "#![forbid(unsafe_code)]",
        "const A: char = '\"'; // unsafe",
        "fn f<'a>(a: &'a str) -> char { '\\'' } // unsafe",
    ] {
        none(&faults_of("core/src/a.rs", harmless));
    }
    for hidden in [
        "const A: char = '\"'; fn f() { unsafe { g() } } const B: char = '\"';",
        "fn f<'a>() { unsafe { g::<'a>() } }",
        "const A: &str = r\"\\\"; fn f() { unsafe { g() } } // \"",
        "const A: char = '\\''; fn f() { unsafe { g() } } const B: char = '\\'';",
    ] {
        assert_eq!(faults_of("core/src/a.rs", hidden).len(), 1, "{hidden}");
    }
}

#[test]
fn an_ignored_test_is_found() {
    assert_eq!(faults_of("core/tests/it/a.rs", "#[test]\n# [ ignore = \"slow\" ]\nfn a() {}").len(), 1);
    none(&faults_of("core/tests/it/a.rs", "// #[ignore]"));
    let child =
        "#[test]\n#[ignore = \"a child\"]\nfn child() {}\nfn parent() { run(\"--ignored\", \"a::child\") }";
    none(&faults_of("core/tests/it/a.rs", child));
    assert_eq!(faults_of("core/tests/it/a.rs", &child.replace("a::child", "a::other")).len(), 1);
}

#[test]
fn an_upward_import_is_found() {
    let named =
        |path: &str, text: &str| gate::foreign_names(&[Source { path: path.into(), text: text.into() }]);
    let upward = "use superfluid_worker_kit::Runtime;";
    assert_eq!(named("core/src/a.rs", upward).len(), 1);
    assert_eq!(named("io-tokio/src/a.rs", upward).len(), 1);
    none(&named("workers/mock/src/a.rs", upward));
    none(&named("core/src/a.rs", "// superfluid_worker_kit\npub fn superfluid_core_of() {}"));
    assert_eq!(named("somewhere/src/a.rs", "").len(), 1);
}

#[test]
fn sources_are_found_and_build_outputs_are_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    for path in [
        "core/src/lib.rs",
        ".ci/run",
        "target/a.rs",
        ".cache/a.rs",
        ".git/a",
        "built/CACHEDIR.TAG",
        "built/a.rs",
    ] {
        write(path, "");
    }
    fs::write(folder.path().join("binary"), [0xff, 0xfe]).expect("a file");
    let found = gate::sources(Path::new(folder.path())).expect("readable");
    let paths: Vec<&str> = found.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, [".ci/run", "core/src/lib.rs"]);
}
