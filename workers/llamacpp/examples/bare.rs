//! Tokens a second of the bare loop: `bare <folder of libllama> <model.gguf> [streams [tokens]]`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_worker_kit::Vocabulary;
use superfluid_worker_llamacpp::{Library, LlamaVocabulary, LoadMode, LoadedModel, Places, bare_greedy};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, model, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: bare <folder of libllama> <model.gguf> [streams [tokens]]");
        return ExitCode::from(2);
    };
    let number = |at: usize, or: usize| rest.get(at).and_then(|text| text.parse().ok()).unwrap_or(or);
    match run(library.into(), model.as_ref(), number(0, 1), number(1, 128)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::FAILURE
        }
    }
}

fn run(library: PathBuf, model: &Path, streams: usize, tokens: usize) -> Result<(), Refusal> {
    let places = Places { argument: Some(library), ..Places::default() };
    let library = Library::open(&places.library()?, false)?;
    let model = Arc::new(LoadedModel::load(library, model, LoadMode::Serve, &mut |_| true)?);
    let vocabulary =
        LlamaVocabulary::of(&model).ok_or_else(|| Refusal::new("bare_run", "the model has no vocabulary"))?;
    let prompt = vocabulary.tokenize("The history of the lighthouse begins with", false, true)?;
    let run = bare_greedy(&model, &vec![prompt; streams], tokens, 2048, false)?;
    println!(
        "{streams} streams: {:.1} tokens a second, prompts in {:?}",
        run.tokens_per_second(),
        run.prefill
    );
    Ok(())
}
