//! What is taken for an artifact, and what is refused with which reason.

use super::play::{artifact, ours, play};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use superfluid_core::park::{Head, Origin, PREFIX, Reject, decode, encode, head_len};

fn torn(bytes: &[u8]) -> bool {
    matches!(decode(bytes, &ours()), Err(Reject::Torn { .. }))
}

#[test]
fn an_artifact_names_model_runtime_and_tokens_and_gives_the_state_back() {
    let bytes = artifact(&ours(), &[5, 6, 7], b"state");
    let (head, state) = decode(&bytes, &ours()).expect("good");
    assert_eq!((head.origin, head.tokens, state), (ours(), vec![5, 6, 7], &b"state"[..]));
    assert_eq!(head.state_bytes, 5);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("sfpark1\n"), "a person sees what it is: {text}");
    for part in [&*ours().model, "mock 1 (cpu)", "\"tokens\":3", "tokens_sha256", "state_sha256"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// A write that was cut at any byte.
#[test]
fn case_k07_every_cut_and_every_changed_byte_is_seen() {
    let bytes = artifact(&ours(), &[1, 2], b"some state");
    for at in 0..bytes.len() {
        assert!(torn(&bytes[..at]), "cut after {at} bytes");
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(decode(&changed, &ours()).is_err(), "byte {at} changed");
    }
    assert!(torn(&[&bytes[..], b"x"].concat()), "something follows");
}

#[test]
fn another_model_is_foreign_and_another_build_is_stale() {
    let said = |bytes: &[u8]| decode(bytes, &ours()).expect_err("refused").to_string();
    let model = Origin { model: "other".into(), ..ours() };
    assert_eq!(said(&artifact(&model, &[1], b"s")), "it is foreign: it is another model's");
    let build = Origin { runtime: "mock 0 (cuda)".into(), ..ours() };
    assert_eq!(said(&artifact(&build, &[1], b"s")), "it is stale: mock 0 (cuda) made it");
    assert_eq!(said(b"GGUF and much more"), "it is foreign: no artifact begins like that");
    let mut newer = artifact(&ours(), &[1], b"s");
    newer[6] = b'2';
    assert_eq!(said(&newer), "it is stale: its format is 2, not 1");
}

#[test]
fn a_head_is_never_longer_than_it_can_be() {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(b"sfpark1\n");
    for (description, tokens) in [(u32::MAX, 1), (1, u32::MAX), (1, 0)] {
        prefix[8..12].copy_from_slice(&u32::to_le_bytes(description));
        prefix[12..].copy_from_slice(&u32::to_le_bytes(tokens));
        assert!(matches!(head_len(&prefix), Err(Reject::Torn { .. })), "{description}, {tokens}");
        assert!(Head::decode(&prefix, &ours()).is_err());
    }
}

#[test]
fn a_state_of_no_tokens_is_not_parked() {
    assert_eq!(encode(&ours(), &[], b"state"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_judged(bytes in vec(any::<u8>(), 0..400)) {
        play(&bytes);
    }

    /// Bytes that begin like an artifact get further.
    #[test]
    fn what_begins_like_an_artifact_is_judged(bytes in vec(any::<u8>(), 0..200)) {
        play(&[b"sfpark1\n", &bytes[..]].concat());
        let good = artifact(&ours(), &[3], &bytes);
        prop_assert!(decode(&good, &ours()).is_ok());
        play(&good);
    }
}

/// What the fuzzer found worth keeping.
#[test]
fn the_corpus_plays() {
    crate::corpus::each("artifact", play);
}
