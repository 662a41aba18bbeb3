use proptest::collection::vec;
use proptest::prelude::*;
use superfluid_core::sched::{Class, JobId};
use superfluid_core::wire::{
    CodecError, Decoder, Input, MAX_FRAME, PROTOCOL, Sampling, Submit, ToDaemon, ToWorker, TokenLogprob,
    encode,
};

fn bytes_of(frames: &[ToWorker]) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in frames {
        encode(frame, &mut out).unwrap();
    }
    out
}

fn drain(decoder: &mut Decoder) -> Vec<Result<ToWorker, CodecError>> {
    core::iter::from_fn(|| decoder.poll_frame()).collect()
}

fn frame() -> impl Strategy<Value = ToWorker> {
    prop_oneof![
        any::<u32>().prop_map(|protocol| ToWorker::Hello { protocol }),
        any::<u64>().prop_map(|id| ToWorker::Cancel { id: JobId(id) }),
        any::<u64>().prop_map(|n| ToWorker::Ping { n }),
        Just(ToWorker::Drain),
    ]
}

proptest! {
    #[test]
    fn frames_survive_any_cut(frames in vec(frame(), 0..8), cuts in vec(1usize..40, 1..40)) {
        let bytes = bytes_of(&frames);
        let mut decoder = Decoder::new();
        let mut came = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            decoder.handle_bytes(now);
            came.extend(drain(&mut decoder).into_iter().map(Result::unwrap));
            rest = later;
        }
        prop_assert_eq!(came, frames);
        prop_assert_eq!(decoder.pending(), 0);
        prop_assert_eq!(decoder.handle_end(), Ok(()));
    }

    #[test]
    fn any_bytes_give_frames_or_one_error(chunks in vec(vec(any::<u8>(), 0..64), 0..16)) {
        let mut decoder = Decoder::new();
        let mut errors = 0;
        let mut given = 0;
        for chunk in &chunks {
            given += chunk.len();
            decoder.handle_bytes(chunk);
            errors += drain(&mut decoder).iter().filter(|r| r.is_err()).count();
            prop_assert!(decoder.pending() <= given);
            prop_assert_eq!(errors > 0, decoder.is_broken());
        }
        errors += usize::from(decoder.handle_end().is_err());
        prop_assert!(errors <= 1);
    }

    #[test]
    fn a_damaged_link_never_panics(frames in vec(frame(), 1..6), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut bytes = bytes_of(&frames);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes);
        let came = drain(&mut decoder);
        prop_assert!(came.iter().filter(|r| r.is_err()).count() <= 1);
        let _ = decoder.handle_end();
    }
}

#[test]
fn a_job_survives_the_wire_whole() {
    let submit = Submit {
        id: JobId(7),
        class: Class::Interactive,
        input: Input::Chat {
            messages: vec![serde_json::json!({"role": "user", "content": "h\u{e9}\n"})],
            tools: vec![serde_json::json!({"type": "function"})],
            kwargs: serde_json::Map::from_iter([("enable_thinking".into(), false.into())]),
        },
        sampling: Sampling {
            temperature: 0.7,
            logit_bias: [(5, -100.0), (999_999_999, 1.5)].into(),
            seed: u64::MAX,
            ..Sampling::default()
        },
        max_tokens: Some(3),
        stop: vec!["\nUser:".into()],
        ignore_eos: true,
        logprobs: Some(5),
        committed: vec![1, 2],
        delivered: superfluid_core::wire::Delivered { text: 3, logprobs: 1 },
        held: vec![TokenLogprob { bytes: vec![0xe8, 0xb5], logprob: -0.25, top: vec![] }],
        now_unix: 1_720_170_187,
    };
    let frame = ToWorker::Submit(submit);
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&bytes_of(std::slice::from_ref(&frame)));
    assert_eq!(decoder.poll_frame(), Some(Ok(frame)));
}

#[test]
fn text_on_the_wire_is_shown_as_what_it_is() {
    let mut decoder = Decoder::new();
    decoder.handle_bytes(b"ggml_cuda_init: found 1 CUDA devices\n");
    let error = decoder.poll_frame::<ToDaemon>().unwrap().unwrap_err();
    assert!(matches!(error, CodecError::Length { length: 0x6c6d_6767, .. }));
    assert!(error.to_string().contains(r#""ggml_cuda_init: found 1 CUDA devices\n""#), "{error}");
    assert!(decoder.poll_frame::<ToDaemon>().is_none());
    decoder.handle_bytes(&bytes_of(&[ToWorker::Drain]));
    assert!(decoder.poll_frame::<ToWorker>().is_none(), "nothing follows an error");
}

#[test]
fn an_announced_length_reserves_nothing_and_the_bound_is_exact() {
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&MAX_FRAME.to_le_bytes());
    assert!(decoder.poll_frame::<ToWorker>().is_none(), "the bound itself is allowed");
    assert_eq!(decoder.pending(), 4);
    for length in [0, MAX_FRAME + 1, u32::MAX] {
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&length.to_le_bytes());
        assert!(matches!(decoder.poll_frame::<ToWorker>(), Some(Err(CodecError::Length { .. }))));
    }
}

#[test]
fn a_frame_of_another_kind_names_what_came() {
    let mut bytes = Vec::new();
    encode(&serde_json::json!({"type": "sing", "song": "x".repeat(500)}), &mut bytes).unwrap();
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&bytes);
    let error = decoder.poll_frame::<ToWorker>().unwrap().unwrap_err().to_string();
    assert!(error.contains("sing") && error.contains("more bytes"), "{error}");
    assert!(error.len() < 800, "{error}");
}

#[test]
fn deep_json_is_an_error_and_no_overflow() {
    let mut bytes = 100_000u32.to_le_bytes().to_vec();
    bytes.resize(100_004, b'[');
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&bytes);
    assert!(matches!(decoder.poll_frame::<serde_json::Value>(), Some(Err(CodecError::Json { .. }))));
}

#[test]
fn a_link_that_ends_inside_a_frame_says_how_far_it_came() {
    let bytes = bytes_of(&[ToWorker::Hello { protocol: PROTOCOL }]);
    for had in 1..bytes.len() {
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes[..had]);
        assert!(decoder.poll_frame::<ToWorker>().is_none());
        let error = decoder.handle_end().unwrap_err();
        assert!(matches!(error, CodecError::Truncated { had: h, .. } if h == had as u64), "{error}");
        assert_eq!(decoder.handle_end(), Ok(()), "said once");
    }
}
