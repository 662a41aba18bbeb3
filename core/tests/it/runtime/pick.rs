//! Which runtime serves a model.

use superfluid_core::runtime::format::{Entry, inspect_directory, inspect_file};
use superfluid_core::runtime::{Choice, Model, RuntimeId, infer, pick};

fn file(name: &str, magic: &[u8]) -> Model {
    Model::Path(inspect_file(name, 1000, magic))
}

fn only(id: RuntimeId) -> Choice {
    Choice::Runtime(id, None)
}

#[test]
fn row_f3_the_two_line_message() {
    let refusal = pick(&only(RuntimeId::Llamacpp), &file("model.base", b"BASE\x01\0\0\0")).unwrap_err();
    assert_eq!(refusal.code, "unsupported_format");
    let shown = format!("{}\n({})", refusal.message, refusal.hints[0]);
    assert_eq!(
        shown,
        "runtime llamacpp cannot serve model.base: it reads a GGUF file, and this is a .base bundle\n\
         (pass --runtime basert, or convert the model)"
    );
}

#[test]
fn row_f3_every_pair() {
    let entries = ["config.json", "model.safetensors"].map(|name| Entry { name: name.into(), size: Some(1) });
    let models = [
        (file("m.gguf", b"GGUF\x03\0\0\0"), RuntimeId::Llamacpp),
        (Model::Path(inspect_directory("dir", &entries)), RuntimeId::Mlx),
        (file("m.base", b"BASE\x01\0\0\0"), RuntimeId::Basert),
    ];
    for (model, reader) in &models {
        assert_eq!(pick(&Choice::Auto, model).unwrap().runtime, *reader);
        assert_eq!(pick(&only(RuntimeId::Mock), model).unwrap().runtime, RuntimeId::Mock);
        for id in [RuntimeId::Llamacpp, RuntimeId::Mlx, RuntimeId::Basert] {
            match pick(&only(id), model) {
                Ok(_) => assert_eq!(id, *reader),
                Err(refusal) => {
                    assert_ne!(id, *reader);
                    assert_eq!(refusal.hints, [format!("pass --runtime {reader}, or convert the model")]);
                }
            }
        }
    }
}

#[test]
fn a_chosen_runtime_does_not_make_a_page_a_model() {
    let refusal = pick(&only(RuntimeId::Llamacpp), &file("m.gguf", b"<!doctype html>")).unwrap_err();
    assert!(
        refusal.message.starts_with(
            "runtime llamacpp cannot serve m.gguf: it reads a GGUF file, and this is an HTML page"
        )
    );
    assert!(refusal.hints[0].contains("download"));
}

#[test]
fn row_f2_ids_are_inferred_from_their_names() {
    for (id, runtime) in [
        ("unsloth/Qwen3-4B-GGUF", RuntimeId::Llamacpp),
        ("mlx-community/Qwen3-4B-4bit", RuntimeId::Mlx),
        ("org/gguf-to-mlx", RuntimeId::Llamacpp),
        ("org/model", RuntimeId::Basert),
    ] {
        assert_eq!(infer(id), runtime, "{id}");
        assert_eq!(pick(&Choice::Auto, &Model::Id(id.into())).unwrap().runtime, runtime);
    }
    let chosen = pick(&only(RuntimeId::Llamacpp), &Model::Id("org/model".into())).unwrap();
    assert_eq!(chosen.runtime, RuntimeId::Llamacpp);
}
