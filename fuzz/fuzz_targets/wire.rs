//! Any bytes as frames, whole and in pieces: the same frames, the same end.
#![no_main]

use superfluid_core::wire::{Decoder, ToDaemon, ToWorker};

fn frames<T: serde::de::DeserializeOwned + std::fmt::Debug>(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.handle_bytes(piece);
        while let Some(frame) = decoder.poll_frame::<T>() {
            frames.push(format!("{frame:?}"));
        }
    }
    frames.push(format!("{:?}", decoder.handle_end()));
    frames
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let whole = bytes.len().max(1);
    let piece = 1 + bytes.first().map_or(0, |&first| usize::from(first));
    assert_eq!(frames::<ToWorker>(bytes, whole), frames::<ToWorker>(bytes, piece));
    assert_eq!(frames::<ToDaemon>(bytes, whole), frames::<ToDaemon>(bytes, piece));
});
