//! What a pull leaves in the cache, and what it takes from it.

use super::hub::{COMMIT, File, Hub, noise};
use crate::serve::gguf;
use std::path::Path;

fn quants() -> Vec<File> {
    vec![
        File::small("README.md", b"read me"),
        File::large("tiny-Q4_K_M.gguf", &gguf()),
        File::large("tiny-Q8_0.gguf", &noise(3000)),
    ]
}

#[test]
fn a_quantization_lies_where_the_hubs_own_tools_look_for_it() {
    let hub = Hub::new(&quants());
    let ran = hub.run(&["pull", "org/tiny-GGUF:Q8_0"]);
    let path = ran.path();
    let snapshot = hub.repo().join("snapshots").join(COMMIT);
    assert_eq!(path, snapshot.join("tiny-Q8_0.gguf"));
    assert_eq!(std::fs::read(path).expect("it is there"), noise(3000));
    let link = std::fs::read_link(path).expect("a link");
    assert_eq!(link, Path::new("../../blobs").join(quants()[2].digest()));
    assert_eq!(std::fs::read_to_string(hub.repo().join("refs/main")).expect("a ref"), COMMIT);
    let names: Vec<_> =
        std::fs::read_dir(&snapshot).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    assert_eq!(names, ["tiny-Q8_0.gguf"], "nothing else was asked for");
    assert!(
        ran.stderr.contains("verified tiny-Q8_0.gguf") && ran.stderr.contains("from localhost"),
        "{}",
        ran.stderr
    );

    let again = hub.run(&["pull", "org/tiny-GGUF:q8_0"]);
    assert_eq!(again.path(), path);
    assert_eq!(hub.store.asked().len(), 1, "it came once");
    assert!(again.stderr.contains("tiny-Q8_0.gguf is there already"), "{}", again.stderr);
    assert_eq!(hub.run(&["pull", "org/tiny-GGUF"]).path(), snapshot.join("tiny-Q4_K_M.gguf"));
}

#[test]
fn shards_come_together_and_the_first_is_named() {
    let hub = Hub::new(&[
        File::large("Q2_K/tiny-Q2_K-00001-of-00002.gguf", b"one"),
        File::large("Q2_K/tiny-Q2_K-00002-of-00002.gguf", b"two"),
        File::large("tiny-Q8_0.gguf", b"another"),
    ]);
    let ran = hub.run(&["pull", "org/tiny-GGUF:Q2_K", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON alone on stdout");
    assert_eq!((&json["bytes"], &json["fetched"], &json["commit"]), (&6.into(), &6.into(), &COMMIT.into()));
    let path = Path::new(json["path"].as_str().expect("a path"));
    assert_eq!(std::fs::read(path).expect("the first"), b"one");
    let second = path.with_file_name("tiny-Q2_K-00002-of-00002.gguf");
    assert_eq!(std::fs::read(second).expect("the second"), b"two");
}

#[test]
fn a_folder_of_safetensors_is_pulled_whole_with_its_small_files() {
    let files = [
        File::small("config.json", br#"{"model_type":"llama"}"#),
        File::small("tokenizer.json", b"{}"),
        File::large("model.safetensors", b"weights"),
        File::large("pytorch_model.bin", b"more weights"),
    ];
    let hub = Hub::new(&files);
    let ran = hub.run(&["pull", "org/tiny-GGUF", "--runtime", "mlx"]);
    let folder = ran.path();
    for file in &files[..3] {
        assert_eq!(std::fs::read(folder.join(file.path)).expect(file.path), file.bytes);
        assert!(hub.repo().join("blobs").join(file.digest()).is_file());
    }
    assert!(!folder.join("pytorch_model.bin").exists());
}

#[test]
fn what_the_hubs_own_tools_fetched_is_not_fetched_again() {
    let hub = Hub::new(&quants());
    let blobs = hub.repo().join("blobs");
    std::fs::create_dir_all(&blobs).expect("a folder");
    std::fs::write(blobs.join(quants()[2].digest()), noise(3000)).expect("their blob");
    assert_eq!(std::fs::read(hub.run(&["pull", "org/tiny-GGUF:Q8_0"]).path()).expect("it"), noise(3000));
    assert_eq!(hub.store.asked().len(), 0);
}

#[test]
fn offline_asks_nobody_and_finds_what_is_there() {
    let hub = Hub::new(&quants());
    let ran = hub.run(&["pull", "org/tiny-GGUF", "--offline"]);
    assert_eq!((ran.code, hub.requests()), (Some(1), 0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("is not in") && ran.stderr.contains("superfluid pull org/tiny-GGUF"),
        "{}",
        ran.stderr
    );
    let pulled = hub.run(&["pull", "org/tiny-GGUF:Q8_0"]);
    let asked = hub.requests();
    for id in ["org/tiny-GGUF:Q8_0", "org/tiny-GGUF"] {
        assert_eq!(hub.run(&["pull", id, "--offline"]).path(), pulled.path());
    }
    assert_eq!(hub.run(&["pull", "org/tiny-GGUF:Q4_K_M", "--offline"]).code, Some(1));
    std::fs::remove_dir_all(hub.repo().join("blobs")).expect("the bytes go");
    let ran = hub.run(&["pull", "org/tiny-GGUF:Q8_0", "--offline"]);
    assert_eq!(ran.code, Some(1), "a link to nothing is no model: {}", ran.stdout);
    assert_eq!(hub.requests(), asked);
}

#[test]
fn a_cache_named_by_its_own_variable_is_used() {
    let hub = Hub::new(&quants());
    let elsewhere = hub.temp.path().join("elsewhere");
    let elsewhere = elsewhere.to_str().expect("text");
    let ran = hub.run_with(&["pull", "org/tiny-GGUF"], &[("HF_HUB_CACHE", elsewhere)]);
    assert!(ran.path().starts_with(elsewhere), "{}", ran.stdout);
    assert!(!hub.cache().exists());
}

#[test]
fn what_was_typed_wrongly_is_a_usage_error_and_asks_nobody() {
    let hub = Hub::new(&quants());
    for (args, env) in [
        (&["pull", "tiny"][..], None),
        (&["pull", "../../x"], None),
        (&["pull", "org/tiny-GGUF", "--revision", "../x"], None),
        (&["pull", "org/tiny-GGUF", "--runtime", "nothing"], None),
        (&["pull", "org/tiny-GGUF"], Some(("HF_ENDPOINT", "http://localhost"))),
    ] {
        let ran = hub.run_with(args, &env.into_iter().collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
    }
    let ran = hub.run(&["pull", "org/plain"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("basert tool") && ran.stderr.contains("--runtime llamacpp"),
        "{}",
        ran.stderr
    );
    assert_eq!(hub.requests(), 0);
}
