//! Which files of a repository make the model that was asked for.

use superfluid_core::Refusal;
use superfluid_core::pull::{Chosen, ModelId, choose};
use superfluid_core::runtime::format::Format;

fn gguf(id: &str, paths: &[&str]) -> Result<Chosen, Refusal> {
    choose(&ModelId::parse(id).expect("an id"), Format::Gguf, paths)
}

fn mlx(id: &str, paths: &[&str]) -> Result<Chosen, Refusal> {
    choose(&ModelId::parse(id).expect("an id"), Format::MlxDirectory, paths)
}

const MANY: [&str; 8] = [
    "README.md",
    "m-Q4_K_M.gguf",
    "m-Q8_0.gguf",
    "m-UD-Q4_K_M.gguf",
    "mmproj-m-F16.gguf",
    "m.imatrix.gguf",
    "BF16/m-BF16-00001-of-00002.gguf",
    "BF16/m-BF16-00002-of-00002.gguf",
];

#[test]
fn the_usual_quantization_is_taken_where_several_are_there() {
    assert_eq!(gguf("a/b", &MANY).expect("Q4_K_M").files, ["m-Q4_K_M.gguf"]);
    assert_eq!(gguf("a/b", &["x/only.gguf", "mmproj.gguf"]).expect("one").files, ["x/only.gguf"]);
}

#[test]
fn a_tag_names_a_quantization_or_a_file_in_any_case() {
    for (tag, files) in [
        ("q8_0", &["m-Q8_0.gguf"][..]),
        ("Q4_K_M", &["m-Q4_K_M.gguf"]),
        ("UD-Q4_K_M", &["m-UD-Q4_K_M.gguf"]),
        ("m-UD-Q4_K_M.gguf", &["m-UD-Q4_K_M.gguf"]),
        ("BF16", &["BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"]),
        (
            "m-BF16-00002-of-00002.gguf",
            &["BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"],
        ),
    ] {
        let chosen = gguf(&format!("a/b:{tag}"), &MANY).expect(tag);
        assert_eq!(
            (chosen.files, chosen.open.as_str()),
            (files.iter().map(|f| (*f).to_string()).collect(), files[0])
        );
    }
}

#[test]
fn what_is_not_there_or_not_one_is_said_with_what_there_is() {
    let refusal = gguf("a/b:Q2_K", &MANY).expect_err("no Q2_K");
    assert_eq!((refusal.code.as_str(), refusal.message.as_str()), ("no_such_tag", "a/b has no Q2_K"));
    assert_eq!(refusal.hints, ["it has BF16, Q4_K_M, Q8_0, UD-Q4_K_M; name one as a/b:<quantization>"]);
    let refusal = gguf("a/b", &["m-Q2_K.gguf", "m-Q3_K_S.gguf"]).expect_err("which?");
    assert_eq!(refusal.code, "ambiguous_model");
    let refusal = gguf("a/b:Q8_0", &["x-Q8_0.gguf", "y-Q8_0.gguf"]).expect_err("which?");
    assert_eq!(refusal.message, "a/b:Q8_0 is more than one model: x-Q8_0.gguf, y-Q8_0.gguf");
    assert_eq!(refusal.hints, ["name the file: a/b:x-Q8_0.gguf"]);
    let refusal = gguf("a/b", &["config.json", "model.safetensors"]).expect_err("no GGUF");
    assert!(refusal.hints[0].contains("--runtime mlx"), "{:?}", refusal.hints);
}

#[test]
fn case_m11_a_repository_that_lacks_parts_is_refused_before_anything_is_fetched() {
    let refusal = gguf("a/b", &["m-00001-of-00003.gguf", "m-00003-of-00003.gguf"]).expect_err("a hole");
    assert_eq!(refusal.code, "incomplete_model");
    assert!(refusal.message.contains("2 of 3"), "{}", refusal.message);
    // Parts of another count are another model.
    let refusal = gguf("a/b", &["m-00001-of-00002.gguf", "m-00002-of-00003.gguf"]).expect_err("two halves");
    assert_eq!(refusal.code, "ambiguous_model");
}

#[test]
fn an_mlx_model_is_its_folder_without_what_is_beside_it() {
    let paths = [
        ".gitattributes",
        "README.md",
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "consolidated.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
        "tokenizer.model",
        "chat_template.jinja",
        "original/model.safetensors",
        "pytorch_model.bin",
        "modeling.py",
    ];
    let chosen = mlx("mlx-community/b", &paths).expect("a model");
    assert_eq!(chosen.open, "");
    assert_eq!(
        chosen.files,
        [
            "chat_template.jinja",
            "config.json",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model.safetensors.index.json",
            "modeling.py",
            "tokenizer.json",
            "tokenizer.model",
        ]
    );
    assert_eq!(mlx("a/b:4bit", &paths).expect_err("no tags").code, "no_such_tag");
    let refusal = mlx("a/b", &["m.gguf"]).expect_err("no safetensors");
    assert!(refusal.hints[0].contains("--runtime llamacpp"), "{:?}", refusal.hints);
}
