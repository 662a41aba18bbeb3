//! Any bytes as a course of the tree of held states: it says what a list searched from end to end says.
#![no_main]

#[path = "../../core/tests/it/cache/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    model::play(bytes);
});
