//! What the generic executor relies on, of the real llama.cpp.

use super::home_with_llama;
use super::parting::MARGIN;
use superfluid_core::wire::LoadSpec;
use superfluid_tests::things;
use superfluid_worker_kit::Runtime;
use superfluid_worker_kit::contract::{Setup, run};
use superfluid_worker_llamacpp::{LlamaRuntime, Places};

#[test]
fn llama_keeps_the_contract() {
    let (Some(model), Some(home)) = (things::need(things::small_model()), home_with_llama()) else { return };
    let library = home.path().join("runtimes/llamacpp/current/lib");
    let places = Places { variable: Some(library), argument: None, executable: None };
    let spec = LoadSpec {
        model: model.to_string_lossy().into_owned(),
        max_batch: 2,
        max_context: Some(512),
        ..LoadSpec::default()
    };
    let mut model = LlamaRuntime::new(places).load(&spec, &mut |_| true).expect("a model");
    assert!(model.primitives.engine().keeping.exports(), "states leave the device");
    let texts =
        ["Once upon a time, in a village by the sea, there lived", "The quick brown fox jumps over the"];
    let prompts = texts.map(|text| model.vocabulary.tokenize(text, false, false).expect("tokens"));
    let setup = Setup { vocab: model.vocabulary.size(), prompts, margin: MARGIN };
    run(&mut *model.primitives, &setup);
}
