//! Which sequences are fed along so that a decode pass is computed in one go.

use superfluid_worker_llamacpp::{Bridge, Row};

fn decoding(rows: &[(u32, u32)]) -> Vec<Row<'static>> {
    rows.iter().map(|(seq, start)| Row { seq: *seq, start: *start, tokens: &[7], output: true }).collect()
}

#[test]
fn gaps_are_closed_whatever_the_order_of_the_rows() {
    let mut bridge = Bridge::new(1024);
    let held = [40, 40, 0, 90, 40, 40];
    assert_eq!(bridge.close(&decoding(&[(5, 40), (0, 40), (1, 40)]), &held), [2, 3, 4]);
    assert!(bridge.close(&decoding(&[(0, 40), (1, 40), (2, 0)]), &held).is_empty());
}

#[test]
fn a_wide_gap_a_full_and_a_longer_sequence_are_left() {
    let mut bridge = Bridge::new(1024);
    assert!(bridge.close(&decoding(&[(0, 9), (6, 9)]), &[9; 8]).is_empty());
    assert!(bridge.close(&decoding(&[(0, 1023), (2, 9)]), &[1023, 1024, 9]).is_empty());
    assert!(bridge.close(&decoding(&[(0, 9), (2, 9)]), &[9, 600, 9]).is_empty());
    assert_eq!(bridge.close(&decoding(&[(0, 700), (2, 9)]), &[700, 600, 9]), [1]);
}

#[test]
fn a_pass_with_prompt_chunks_or_one_sequence_is_left_alone() {
    let mut bridge = Bridge::new(1024);
    let mut rows = decoding(&[(0, 9), (2, 9)]);
    rows[1].tokens = &[7, 8];
    assert!(bridge.close(&rows, &[9; 4]).is_empty());
    assert!(bridge.close(&decoding(&[(3, 9)]), &[9; 4]).is_empty());
}
