//! Which library is taken, and what is said where there is none.

use std::fs;
use std::path::Path;
use superfluid_worker_llamacpp::{Library, Places};

fn touch(path: &Path) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("the folder is made");
    fs::write(path, b"").expect("the file is written");
}

#[test]
fn the_variable_comes_before_the_argument_and_that_before_the_install() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    for folder in ["own", "given", "install/lib"] {
        touch(&at(folder).join("libllama.so"));
    }
    touch(&at("install/bin/superfluid-worker-llamacpp"));
    let mut places = Places {
        variable: Some(at("own")),
        argument: Some(at("given")),
        executable: Some(at("install/bin/superfluid-worker-llamacpp")),
    };
    assert_eq!(places.library().expect("found"), at("own/libllama.so"));
    places.variable = None;
    assert_eq!(places.library().expect("found"), at("given/libllama.so"));
    places.argument = None;
    assert_eq!(places.library().expect("found"), at("install/lib/libllama.so"));
}

#[test]
fn the_variable_may_name_a_file_of_any_name() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("my-llama");
    touch(&file);
    let places = Places { variable: Some(file.clone()), ..Places::default() };
    assert_eq!(places.library().expect("found"), file);
}

#[test]
fn loader_names_differ_between_builds() {
    for (name, found) in [
        ("libllama.so", true),
        ("libllama.so.0", true),
        ("libllama.v0.5.0.so", true),
        ("libllama.dylib", true),
        ("libllama.0.dylib", true),
        ("libllama-common.so", false),
        ("libllama.a", false),
        ("libllama.so-README", false),
        ("libggml.so", false),
    ] {
        let home = tempfile::tempdir().expect("a folder");
        touch(&home.path().join(name));
        let places = Places { argument: Some(home.path().to_path_buf()), ..Places::default() };
        assert_eq!(places.library().is_ok(), found, "{name}");
    }
}

#[test]
fn of_several_names_the_plainest_is_taken() {
    let home = tempfile::tempdir().expect("a folder");
    for name in ["libllama.so.0.5.0", "libllama.so.0", "libllama.so", "libllama-common.so"] {
        touch(&home.path().join(name));
    }
    let places = Places { argument: Some(home.path().to_path_buf()), ..Places::default() };
    assert_eq!(places.library().expect("found"), home.path().join("libllama.so"));
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let home = tempfile::tempdir().expect("a folder");
    let missing = home.path().join("missing");
    let places = Places { variable: Some(missing.clone()), ..Places::default() };
    let refusal = places.library().expect_err("nothing is there");
    assert_eq!(refusal.code, "library_not_found");
    assert!(
        refusal.message.contains("SUPERFLUID_LLAMA_LIB")
            && refusal.message.contains(&missing.display().to_string())
    );

    let places = Places { executable: Some(home.path().join("bin/worker")), ..Places::default() };
    let refusal = places.library().expect_err("nothing is there");
    assert!(refusal.message.contains(&home.path().join("lib").display().to_string()), "{}", refusal.message);
    assert_eq!(refusal.hints[0], "superfluid runtime install llamacpp");
}

#[test]
fn case_b10_what_is_no_library_is_refused_in_the_loaders_words() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("libllama.so");
    fs::write(&file, "not a library").expect("written");
    let refusal = Library::open(&file, false).err().expect("it can't be loaded");
    assert_eq!(refusal.code, "library_not_loadable");
    assert!(
        refusal.message.starts_with(&format!("{} can't be loaded: ", file.display())),
        "{}",
        refusal.message
    );
    assert!(
        refusal.message.contains("file too short") || refusal.message.contains("invalid ELF header"),
        "{}",
        refusal.message
    );
}
