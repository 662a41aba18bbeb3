//! The real library, unpacked, and the real models, loaded.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use superfluid_core::wire::LoadSpec;
use superfluid_tests::things;
use superfluid_worker_kit::{Model, Runtime};
use superfluid_worker_llamacpp::{LlamaRuntime, Places};

/// The chat model's own template with its default system message, written out: 42 tokens.
pub(crate) const QUESTION: &str = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nWhat is the capital of France? Answer in one sentence.<|im_end|>\n<|im_start|>assistant\n";

/// The archive's libraries, flat in one folder of the cache.
pub(crate) fn unpacked(archive: &Path) -> PathBuf {
    let home = superfluid_tests::cache().join("libraries");
    let place = home.join(archive.file_stem().expect("a name"));
    if place.is_dir() {
        return place;
    }
    fs::create_dir_all(&home).expect("the cache can be written");
    let scratch = tempfile::tempdir_in(&home).expect("the cache can be written");
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive).expect("the archive opens")));
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("lib") {
            entry.unpack(scratch.path().join(name)).expect("the library is written");
        }
    }
    // Another test may have been first; its folder is as good.
    if fs::rename(scratch.path(), &place).is_err() {
        assert!(place.is_dir(), "{} can't be placed", place.display());
    }
    place
}

/// The folder of the real library; `None` where the machine is said to be offline.
pub(crate) fn library_folder() -> Option<PathBuf> {
    things::need(things::llama_archive()).map(|archive| unpacked(&archive))
}

/// A runtime over the real library.
pub(crate) fn runtime() -> Option<LlamaRuntime> {
    Some(LlamaRuntime::new(Places { argument: Some(library_folder()?), ..Places::default() }))
}

/// The small chat model, loaded by the real library.
pub(crate) fn small_model(lanes: u32, window: u32) -> Option<Model> {
    let model = things::need(things::small_model())?;
    Some(loaded(&mut runtime()?, &model, lanes, window))
}

/// A model with sliding-window attention, loaded by the real library.
pub(crate) fn sliding_model(lanes: u32, window: u32) -> Option<Model> {
    let model = things::need(things::sliding_window_model())?;
    Some(loaded(&mut runtime()?, &model, lanes, window))
}

fn loaded(runtime: &mut LlamaRuntime, model: &Path, lanes: u32, window: u32) -> Model {
    let spec = LoadSpec {
        model: model.display().to_string(),
        max_batch: lanes,
        max_context: Some(window),
        ..LoadSpec::default()
    };
    runtime.load(&spec, &mut |_| true).expect("the model loads")
}
