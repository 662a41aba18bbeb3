//! Sequences: packed together, cut, copied, cleared, each with its own memory.

use super::answers::{next, picked};
use super::given::{self, QUESTION};
use superfluid_core::sched::{SeqId, SeqOp, Token};
use superfluid_worker_kit::{Batch, BatchRow, Model, Pick, StepError};

fn prompt(model: &Model, text: &str) -> Vec<Token> {
    model.vocabulary.tokenize(text, true, true).expect("tokens")
}

#[test]
fn sequences_in_any_order_and_with_gaps_give_each_its_own_answer() {
    let Some(mut model) = given::small_model(8, 512) else { return };
    let prompts = ["One, two, three, four,", "Monday, Tuesday, Wednesday,", QUESTION, "A B C D E F G"];
    let prompts: Vec<Vec<Token>> = prompts.iter().map(|text| prompt(&model, text)).collect();
    let alone: Vec<Token> = prompts
        .iter()
        .map(|tokens| {
            let token = next(&mut model, 9, 0, tokens, Pick::Argmax);
            model.primitives.apply(SeqOp::Clear { seq: SeqId(9) }).expect("cleared");
            token
        })
        .collect();
    for seqs in [[7, 0, 3, 1], [5, 4, 2, 6]] {
        let rows: Vec<BatchRow<'_>> = seqs
            .iter()
            .zip(&prompts)
            .map(|(seq, tokens)| BatchRow { seq: *seq, start: 0, tokens, pick: Pick::Argmax })
            .collect();
        model.primitives.step(Batch { rows: &rows }, &|| false).expect("the step succeeds");
        let together: Vec<Token> = (0..4).map(|row| picked(&mut model, row)).collect();
        assert_eq!(together, alone);
    }
    let held: usize = prompts.iter().map(Vec::len).sum();
    assert_eq!(model.primitives.cells_used() as usize, 2 * held);
}

#[test]
fn only_what_was_wanted_comes_back() {
    let Some(mut model) = given::small_model(2, 512) else { return };
    let tokens = prompt(&model, QUESTION);
    let rows = [
        BatchRow { seq: 1, start: 0, tokens: &tokens[..20], pick: Pick::Nothing },
        BatchRow { seq: 0, start: 0, tokens: &tokens, pick: Pick::Argmax },
    ];
    model.primitives.step(Batch { rows: &rows }, &|| false).expect("the step succeeds");
    assert!(matches!(model.primitives.picked(0), superfluid_worker_kit::Picked::Nothing));
    let first = picked(&mut model, 1);
    assert_eq!(model.vocabulary.piece(first), b"The");
    assert!(matches!(model.primitives.picked(2), superfluid_worker_kit::Picked::Nothing));
}

#[test]
fn a_cut_sequence_goes_on_as_if_it_had_never_been_longer() {
    let Some(mut model) = given::small_model(2, 512) else { return };
    let tokens = prompt(&model, QUESTION);
    let expected = next(&mut model, 0, 0, &tokens, Pick::Argmax);
    let other = prompt(&model, "something else altogether");
    next(&mut model, 0, tokens.len(), &other, Pick::Argmax);
    let kept = tokens.len() - 5;
    model
        .primitives
        .apply(SeqOp::Truncate { seq: SeqId(0), len: u32::try_from(kept).expect("small") })
        .expect("cut");
    assert_eq!(model.primitives.cells_used() as usize, kept);
    assert_eq!(next(&mut model, 0, kept, &tokens[kept..], Pick::Argmax), expected);
}

#[test]
fn a_copy_holds_the_first_tokens_and_leaves_its_source_alone() {
    let Some(mut model) = given::small_model(2, 512) else { return };
    let tokens = prompt(&model, QUESTION);
    let expected = next(&mut model, 0, 0, &tokens, Pick::Argmax);
    let copy = SeqOp::Copy { from: SeqId(0), to: SeqId(3), len: 30 };
    model.primitives.apply(copy).expect("copied");
    assert_eq!(next(&mut model, 3, 30, &tokens[30..], Pick::Argmax), expected);
    let second = next(&mut model, 0, tokens.len(), &[expected], Pick::Argmax);
    assert_eq!(model.vocabulary.piece(second), b" capital");
}

#[test]
fn a_pass_that_is_wrong_is_refused_before_llama_cpp_sees_it() {
    let Some(mut model) = given::small_model(2, 512) else { return };
    let big = vec![1; 4096];
    for row in [
        BatchRow { seq: 0, start: 0, tokens: &[49_152], pick: Pick::Argmax },
        BatchRow { seq: 0, start: 0, tokens: &[u32::MAX], pick: Pick::Argmax },
        BatchRow { seq: 4, start: 0, tokens: &[1], pick: Pick::Argmax },
        BatchRow { seq: 0, start: u32::MAX, tokens: &[1], pick: Pick::Argmax },
        BatchRow { seq: 0, start: 0, tokens: &[], pick: Pick::Argmax },
        BatchRow { seq: 0, start: 0, tokens: &big, pick: Pick::Argmax },
        BatchRow { seq: 0, start: 7, tokens: &[1], pick: Pick::Argmax },
    ] {
        let result = model.primitives.step(Batch { rows: &[row] }, &|| false);
        let refused = matches!(&result, Err(StepError::Fatal(refusal)) if refusal.code == "bad_pass");
        assert!(refused || row.start == 7, "{row:?}: {result:?}");
        if row.start == 7 {
            model.primitives.apply(SeqOp::Clear { seq: SeqId(0) }).expect("cleared");
        }
    }
}

#[test]
fn a_full_sequence_is_no_room_and_loses_nothing() {
    let Some(mut model) = given::small_model(2, 256) else { return };
    let tokens: Vec<Token> = prompt(&model, QUESTION).into_iter().cycle().take(256).collect();
    let rows = [BatchRow { seq: 0, start: 0, tokens: &tokens[..250], pick: Pick::Nothing }];
    model.primitives.step(Batch { rows: &rows }, &|| false).expect("it fits");
    let rows = [
        BatchRow { seq: 0, start: 250, tokens: &tokens[..100], pick: Pick::Argmax },
        BatchRow { seq: 1, start: 0, tokens: &tokens[..42], pick: Pick::Argmax },
    ];
    assert_eq!(model.primitives.step(Batch { rows: &rows }, &|| false), Err(StepError::Capacity));
    assert_eq!(model.primitives.cells_used(), 250);
    let first = next(&mut model, 1, 0, &tokens[..42], Pick::Argmax);
    assert_eq!(model.vocabulary.piece(first), b"The");
}
