//! Any bytes as an artifact: no part of a good one that is changed or missing is ever taken for it.
#![no_main]

#[path = "../../core/tests/it/park/play.rs"]
mod play;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    play::play(bytes);
});
