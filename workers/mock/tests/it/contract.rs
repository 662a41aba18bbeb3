use std::sync::Arc;
use superfluid_core::wire::LoadSpec;
use superfluid_worker_kit::Vocabulary;
use superfluid_worker_kit::contract::{Setup, run};
use superfluid_worker_mock::{Faults, Kind, MockPrimitives, MockVocabulary, Script};

fn keeps_the_contract(script: Script) {
    let vocabulary = Arc::new(MockVocabulary::new(&script).unwrap());
    let prompts = ["once upon a time", "the quick brown"];
    let prompts = prompts.map(|text| vocabulary.tokenize(text, false, false).unwrap());
    let setup = Setup { vocab: vocabulary.size(), prompts, margin: 0.0 };
    let engine = script.engine(&LoadSpec { max_batch: 2, ..LoadSpec::default() });
    run(&mut MockPrimitives::new(script, engine, vocabulary, Faults::default()), &setup);
}

#[test]
fn a_plain_mock_keeps_the_contract() {
    keeps_the_contract(Script::default());
}

#[test]
fn a_recurrent_mock_keeps_the_contract() {
    keeps_the_contract(Script { kind: Kind::Recurrent, ..Script::default() });
}

#[test]
fn a_mock_with_a_small_pool_and_small_passes_keeps_the_contract() {
    keeps_the_contract(Script { pool: 200, context: 100, step_tokens: 5, ..Script::default() });
}
