//! Any bytes as a world around the scheduler: every job says what it says alone.
#![no_main]

#[path = "../../core/tests/it/sched/world/mod.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    world::play(bytes);
});
