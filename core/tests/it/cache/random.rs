//! Random courses, decoded from bytes as the fuzz target decodes them.

use super::model::play;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_says_what_the_list_says(bytes in vec(any::<u8>(), 0..240)) {
        play(&bytes);
    }
}

/// What the fuzzer found worth keeping.
#[test]
fn the_corpus_plays() {
    crate::corpus::each("cache", play);
}
