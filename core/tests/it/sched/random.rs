//! Random worlds, decoded from bytes as the fuzz target decodes them.

use super::world::play;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// Every job says what it says alone, ends once, and nothing overfills the device, whatever
    /// arrives, leaves and breaks.
    #[test]
    fn every_job_says_what_it_says_alone(bytes in vec(any::<u8>(), 0..600)) {
        play(&bytes);
    }

    #[test]
    fn the_same_inputs_give_the_same_log(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(play(&bytes), play(&bytes));
    }
}

/// What the fuzzer found worth keeping.
#[test]
fn the_corpus_plays() {
    crate::corpus::each("scheduler", |bytes| {
        play(bytes);
    });
}
