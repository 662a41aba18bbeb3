//! The real model answers, and its logits stand behind its argmax.

use super::given::{self, QUESTION};
use std::cell::Cell;
use superfluid_core::sched::{Copying, Cut, SeqId, SeqOp, Token};
use superfluid_core::wire::LoadSpec;
use superfluid_tests::things;
use superfluid_worker_kit::{Batch, BatchRow, Model, Pick, Picked, Runtime, StepError};

/// Feeds tokens to a sequence that holds `start` and returns what follows.
pub(super) fn next(model: &mut Model, seq: u32, start: usize, tokens: &[Token], pick: Pick) -> Token {
    let start = u32::try_from(start).expect("a position");
    model
        .primitives
        .step(Batch { rows: &[BatchRow { seq, start, tokens, pick }] }, &|| false)
        .expect("the step succeeds");
    picked(model, 0)
}

/// What the last pass's row brought, by argmax or by its logits.
pub(super) fn picked(model: &mut Model, row: usize) -> Token {
    match model.primitives.picked(row) {
        Picked::Token(token) => token,
        Picked::Logits(logits) => {
            let best = (0u32..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).expect("a vocabulary");
            best.0
        }
        Picked::Nothing => panic!("something was wanted"),
    }
}

/// The greedy answer after `prompt`, which sequence `seq` does not hold yet.
fn greedy(model: &mut Model, seq: u32, prompt: &[Token], pick: Pick) -> String {
    let mut text = Vec::new();
    let mut held = 0;
    let mut fed = prompt.to_vec();
    for _ in 0..24 {
        let token = next(model, seq, held, &fed, pick);
        held += fed.len();
        if model.vocabulary.is_end(token) {
            break;
        }
        text.extend(model.vocabulary.piece(token));
        fed = vec![token];
    }
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn a_plain_question_is_answered_in_english() {
    let Some(mut model) = given::small_model(2, 2048) else { return };
    let prompt = model.vocabulary.tokenize(QUESTION, true, true).expect("tokens");
    assert_eq!(prompt.len(), 42);
    assert_eq!(greedy(&mut model, 0, &prompt, Pick::Argmax), "The capital of France is Paris.");
    assert_eq!(greedy(&mut model, 1, &prompt, Pick::Logits), "The capital of France is Paris.");
}

#[test]
fn a_loaded_model_says_what_it_is() {
    let Some(model) = given::small_model(8, 2048) else { return };
    let engine = model.primitives.engine();
    assert_eq!((engine.lanes, engine.seqs, engine.seq_tokens, engine.pool_tokens), (8, 10, 2048, 20_480));
    assert_eq!((engine.cut, engine.copying), (Cut::Anywhere, Copying::Duplicates));
    assert!(engine.step_tokens >= engine.lanes);
    let record = serde_json::to_value(&model.record).expect("JSON");
    assert_eq!(record["architecture"], "llama");
    assert_eq!(record["modalities"]["image_encode"], "the llamacpp runtime has no media path");
    assert_eq!(record["serving"]["park_lossy"], "the llamacpp runtime exports no lossy encoding");
    assert_eq!(
        record["load"]["kv_bits"],
        "the llamacpp runtime keeps its KV type per context and exposes no such knob"
    );
    assert_eq!(record["limits"], serde_json::json!({ "max_seq_len": 2048, "max_seqs": 8 }));
    assert!(model.chat_template.as_deref().is_some_and(|template| template.contains("<|im_start|>")));
    assert_eq!(model.vocabulary.size(), 49_152);
}

#[test]
fn check_lists_devices_and_sizes_a_model_without_loading_it() {
    let (Some(mut runtime), Some(model)) = (given::runtime(), things::need(things::small_model())) else {
        return;
    };
    let report = runtime.check(Some(&model)).expect("the check passes");
    assert_eq!((report.runtime.as_str(), report.formats.as_slice()), ("llamacpp", &["gguf".to_owned()][..]));
    let cpu = report.devices.iter().find(|device| device.carries("cpu")).expect("a processor");
    assert!(cpu.memory_free > 0 && cpu.memory_free <= cpu.memory_total);
    let sizing = serde_json::Value::Object(report.sizing);
    // 30 layers, 3 heads of 64 for keys and as many for values, two bytes each.
    assert_eq!(sizing["kv_bytes_per_token"], 30 * 3 * 64 * 2 * 2);
    assert_eq!((&sizing["trained_window"], &sizing["sequences"]), (&8192.into(), &10.into()));
}

#[test]
fn loading_goes_on_in_thousandths_and_can_be_given_up() {
    let (Some(mut runtime), Some(model)) = (given::runtime(), things::need(things::small_model())) else {
        return;
    };
    let spec = LoadSpec {
        model: model.display().to_string(),
        max_batch: 1,
        max_context: Some(512),
        ..LoadSpec::default()
    };
    let mut seen = Vec::new();
    let loaded = runtime.load(&spec, &mut |permille| {
        seen.push(permille);
        true
    });
    assert!(loaded.is_ok() && seen.is_sorted() && seen.last() == Some(&1000), "{seen:?}");
    let refusal = runtime.load(&spec, &mut |_| false).err().expect("it was given up");
    assert_eq!(refusal.code, "load_given_up");
}

#[test]
fn a_step_that_is_given_up_keeps_what_it_says_it_fed() {
    let Some(mut model) = given::small_model(2, 2048) else { return };
    let prompt = model.vocabulary.tokenize(QUESTION, true, true).expect("tokens");
    let expected = next(&mut model, 0, 0, &prompt, Pick::Argmax);
    let long: Vec<Token> = prompt.iter().copied().cycle().take(700).collect();
    let whole = next(&mut model, 1, 0, &long, Pick::Argmax);
    model.primitives.apply(SeqOp::Clear { seq: SeqId(1) }).expect("cleared");
    let mut kept = 0;
    // Until it has the patience for the whole pass.
    for patience in (0..).step_by(400) {
        let asked = Cell::new(0);
        let abort = || {
            asked.set(asked.get() + 1);
            asked.get() > patience
        };
        let rows = [
            BatchRow { seq: 0, start: 42, tokens: &[expected], pick: Pick::Argmax },
            BatchRow { seq: 1, start: 0, tokens: &long, pick: Pick::Argmax },
        ];
        let result = model.primitives.step(Batch { rows: &rows }, &abort);
        let Err(StepError::Aborted { fed }) = result else {
            assert_eq!(result, Ok(()), "after {patience} questions");
            model.primitives.apply(SeqOp::Truncate { seq: SeqId(0), len: 42 }).expect("cut");
            break;
        };
        assert_eq!(fed[0], 0, "what a decode row brought is gone");
        assert_eq!(model.primitives.cells_used(), 42 + fed[1]);
        kept = kept.max(fed[1]);
        // The whole prompt from here on and from its start is the same to the model.
        let rest = next(&mut model, 1, fed[1] as usize, &long[fed[1] as usize..], Pick::Argmax);
        assert_eq!(rest, whole, "after {fed:?}");
        model.primitives.apply(SeqOp::Clear { seq: SeqId(1) }).expect("cleared");
    }
    assert_eq!(kept, 513, "one beside the decode row, then a micro-batch of 512");
    let second = next(&mut model, 0, 42, &[expected], Pick::Argmax);
    assert_eq!(model.vocabulary.piece(second), b" capital");
}

#[test]
fn a_sliding_window_model_shares_one_pool_and_is_cut_at_its_head_only() {
    let Some(mut model) = given::sliding_model(2, 1024) else { return };
    let engine = model.primitives.engine();
    assert_eq!((engine.cut, engine.copying, engine.pool_tokens), (Cut::HeadOnly, Copying::Shares, 2048));
    let prompt = model.vocabulary.tokenize("Monday, Tuesday, Wednesday,", false, true).expect("tokens");
    let (head, tail) = prompt.split_at(4);
    model
        .primitives
        .step(Batch { rows: &[BatchRow { seq: 1, start: 0, tokens: head, pick: Pick::Nothing }] }, &|| false)
        .expect("the step succeeds");
    model.primitives.apply(SeqOp::Copy { from: SeqId(1), to: SeqId(3), len: 4 }).expect("copied");
    for seq in [1, 3] {
        let day = next(&mut model, seq, 4, tail, Pick::Argmax);
        assert_eq!(String::from_utf8_lossy(&model.vocabulary.piece(day)), " Thursday");
    }
    model.primitives.apply(SeqOp::Clear { seq: SeqId(1) }).expect("cleared");
    let day = next(&mut model, 1, 0, &prompt, Pick::Logits);
    assert_eq!(String::from_utf8_lossy(&model.vocabulary.piece(day)), " Thursday");
}
