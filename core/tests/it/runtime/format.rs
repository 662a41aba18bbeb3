//! What files and folders are.

use proptest::prelude::*;
use superfluid_core::runtime::format::{
    Entry, Inspected, byte_part, complete, hub_id, inspect_directory, inspect_file, mlx, model_name,
    split_names,
};
use superfluid_core::runtime::{Choice, Model, pick};

fn look(name: &str, bytes: &[u8]) -> Inspected {
    inspect_file(name, bytes.len() as u64, bytes)
}

#[test]
fn case_w07_bytes_decide_not_names() {
    for name in [
        "W07_MODEL.GGUF",
        "W07_noext",
        "sha256-0f0f0f",
        "name with space.gguf",
        "ü模.gguf",
        "x.base",
        "x.html",
    ] {
        assert_eq!(look(name, b"GGUF\x03\0\0\0").what(), "a GGUF file", "{name}");
        assert_eq!(look(name, b"BASE\x01\0\0\0").what(), "a .base bundle", "{name}");
    }
}

#[test]
fn case_m02_what_a_wrong_file_looks_like() {
    let safetensors = [2_u64.to_le_bytes().as_slice(), b"{}"].concat();
    let table: [(&[u8], &str, &str); 17] = [
        (b"", "an empty file", "download"),
        (b"GG", "a file of 2 bytes", "download"),
        (b"<!DOCTYPE html><html><head>", "an HTML page", "download"),
        (b"\xef\xbb\xbf\r\n <HTML>", "an HTML page", "download"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "a Git LFS pointer",
            "git lfs pull",
        ),
        (b"{\"error\":\"Repository not found\"}\n", "a JSON text", "download"),
        (b"PK\x03\x04\0\0", "a zip archive", "unpack"),
        (b"\x1f\x8b\x08\0", "a gzip archive", "unpack"),
        (&safetensors, "a safetensors file", "directory"),
        (b"tjgg\x03\0\0\0", "a GGJT file", "convert"),
        (b"ggjt\x03\0\0\0", "a GGJT file", "convert"),
        (b"lmgg\x03\0\0\0", "a GGML file", "convert"),
        (b"algg\x01\0\0\0", "a LoRA adapter", "base model"),
        (b"\x7fELF\x02", "a program", "model"),
        (b"gguf\x03\0\0\0", "a file of unknown kind, starting with \"gguf\"", "GGUF"),
        (b"\x1b[2Jx", "a file of unknown kind, starting with \"\\x1b[2J\"", "GGUF"),
        (b"<?xml version", "an XML document", "download"),
    ];
    for (bytes, what, hint) in table {
        let refusal = pick(&Choice::Auto, &Model::Path(look("m.gguf", bytes))).unwrap_err();
        assert_eq!(refusal.code, "unsupported_format");
        assert!(
            refusal.message.starts_with(&format!("m.gguf is no model superfluid serves: it is {what}")),
            "{}",
            refusal.message
        );
        assert!(refusal.hints[0].contains(hint), "{what}: {:?}", refusal.hints);
    }
}

#[test]
fn case_m04_later_parts_are_named() {
    let part = look("m.gguf.part2of2", b"\x01\x02\x03\x04\x05");
    assert_eq!(part.what(), "one part of a file that was split by bytes");
    for name in ["m.gguf.part1of2", "m.gguf-split-a", "x.part-aa", "d/x.GGUF.part3", "x.split-ab", "x_part_2"]
    {
        assert!(byte_part(name), "{name}");
    }
    for name in
        ["m.gguf", "m-00001-of-00002.gguf", "party.gguf", "x.partial", "x.part", "depart/m.bin", "x.part1ofx"]
    {
        assert!(!byte_part(name), "{name}");
    }
}

fn folder(names: &[&str]) -> Vec<Entry> {
    names.iter().map(|&name| Entry { name: name.into(), size: Some(1) }).collect()
}

#[test]
fn folders() {
    for (names, what) in [
        (vec!["config.json", "model.safetensors", "tokenizer.json"], "an MLX directory"),
        (vec!["config.json", "model.safetensors.index.json"], "an MLX directory"),
        (vec!["b.gguf", "a.GGUF"], "a directory with GGUF files in it"),
        (vec!["model.base", "hub.json"], "a directory with a .base bundle in it"),
        (vec!["config.json"], "a directory with a config.json and no weights"),
        (vec!["model.safetensors"], "a directory with weights and no config.json"),
        (vec![], "a directory without a model"),
    ] {
        assert_eq!(inspect_directory("d", &folder(&names)).what(), what, "{names:?}");
    }
    let refusal =
        pick(&Choice::Auto, &Model::Path(inspect_directory("d/", &folder(&["m.gguf"])))).unwrap_err();
    assert_eq!(refusal.hints, ["pass the file itself: d/m.gguf"]);
}

#[test]
fn case_m11_shards_are_those_of_the_index() {
    let index = br#"{"metadata":{},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-3.safetensors"}}"#;
    let shards = mlx::shards(index).unwrap();
    let whole = |entries: &[Entry]| complete("dir", shards.iter().map(String::as_str), entries);
    let mut entries = folder(&["model-1.safetensors", "model-3.safetensors", "model.safetensors"]);
    let refusal = whole(&entries).unwrap_err();
    assert_eq!(refusal.message, "dir lacks 1 of its 3 weight files: model-2.safetensors");
    entries.push(Entry { name: "model-2.safetensors".into(), size: None });
    assert!(whole(&entries).is_err(), "a link to nothing is missing");
    entries.push(Entry { name: "model-2.safetensors".into(), size: Some(9) });
    assert_eq!(whole(&entries), Ok(()));
    for bad in ["../x.safetensors", "/x", "a/b", "..", "", ".hidden"] {
        let index = serde_json::json!({"weight_map": {"a": bad}}).to_string();
        assert_eq!(mlx::shards(index.as_bytes()).unwrap_err().code, "bad_model", "{bad}");
    }
    assert_eq!(mlx::shards(b"{").unwrap_err().code, "bad_model");
}

#[test]
fn case_x01_a_directory_that_names_its_own_code_is_refused() {
    let judge = |file: &str, text: &str| mlx::refuse_own_code("dir", file, text.as_bytes());
    for text in [
        r#"{"model_file":"m.py"}"#,
        r#"{"model_type":"llama","auto_map":{"AutoModel":"m.Model"}}"#,
        r#"{"auto_map":["m.Tokenizer",null]}"#,
        r#"{"model_file":"","model_file":"m.py"}"#,
    ] {
        for file in mlx::SETTINGS {
            let refusal = judge(file, text).unwrap_err();
            assert_eq!(refusal.code, "untrusted_model_code", "{file}: {text}");
            assert!(
                refusal.message.starts_with("dir brings code of its own") && refusal.message.contains(file)
            );
            assert!(refusal.hints[0].contains("SUPERFLUID_MLX_TRUST_MODEL_CODE=1"), "{refusal}");
        }
    }
    for text in [r#"{"model_type":"llama"}"#, r#"{"auto_map":{},"model_file":null}"#, "{}"] {
        assert_eq!(judge("config.json", text), Ok(()), "{text}");
    }
    for text in ["", "[]", "{", "\u{feff}{\"model_file\":\"m.py\"}"] {
        assert_eq!(judge("config.json", text).unwrap_err().code, "bad_model", "{text:?}");
    }
}

#[test]
fn names_of_parts_and_ids() {
    assert_eq!(
        split_names("s/m-00002-of-00003.gguf", 3).unwrap(),
        ["s/m-00001-of-00003.gguf", "s/m-00002-of-00003.gguf", "s/m-00003-of-00003.gguf"]
    );
    for (name, count) in
        [("m.gguf", 2), ("m-00001-of-00003.gguf", 2), ("m-1-of-3.gguf", 3), ("ü", 1), ("", 0)]
    {
        assert_eq!(split_names(name, count), None, "{name}");
    }
    for id in ["org/model", "mlx-community/Qwen3-4B-4bit", "unsloth/Qwen3-GGUF:Q4_K_M"] {
        assert!(hub_id(id), "{id}");
    }
    for path in [
        "model.gguf",
        "dir/model.gguf",
        "./dir/model",
        "a/b/c",
        "/a/b",
        "../b",
        "a/",
        "a b/c",
        "a/b:../c",
        "dir/m.BASE",
    ] {
        assert!(!hub_id(path), "{path}");
    }
}

proptest! {
    #[test]
    fn any_bytes_under_any_name_get_an_answer(name in ".{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..300), more in 0_u64..99) {
        let seen = inspect_file(&name, bytes.len() as u64 + more, &bytes);
        prop_assert!(!seen.what().is_empty());
        prop_assert!(seen.what().chars().all(|c| !c.is_control()));
        let _ = (byte_part(&name), split_names(&name, more), hub_id(&name));
    }
}

#[test]
fn names_of_models_their_parts_and_unfinished_downloads_are_known() {
    for name in
        ["a.gguf", "A.GGUF", "a.gguf.part", "a.gguf.incomplete", "a.base", "a.ggml", "model.safetensors"]
    {
        assert!(model_name(name), "{name}");
    }
    for name in ["readme.md", "a.json", "gguf", "baseline", ""] {
        assert!(!model_name(name), "{name}");
    }
}
