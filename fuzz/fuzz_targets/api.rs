//! Any bytes as a request: one the worker gets whole, or an error that is the client's.
#![no_main]

#[path = "../../core/tests/it/api/play.rs"]
mod play;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    play::play(bytes);
});
