//! Bytes as an artifact, as the fuzz target and the property tests read them.

use superfluid_core::park::{Head, Origin, PREFIX, Reject, decode, encode, head_len};
use superfluid_core::sched::Token;

pub(crate) fn ours() -> Origin {
    Origin { model: "m".repeat(64), runtime: "mock 1 (cpu)".into() }
}

/// An artifact of these tokens and this state.
pub(crate) fn artifact(origin: &Origin, tokens: &[Token], state: &[u8]) -> Vec<u8> {
    let mut bytes = encode(origin, tokens, state).expect("a head");
    bytes.extend_from_slice(state);
    bytes
}

/// The bytes as they are; then as tokens, a state and something done to the artifact of both.
pub(crate) fn play(bytes: &[u8]) {
    whole_and_in_two_reads_agree(bytes);
    let [how, at, to, count, rest @ ..] = bytes else { return };
    let split = (usize::from(*count) * 4).min(rest.len() / 4 * 4);
    let (words, state) = rest.split_at(split);
    let tokens: Vec<Token> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let Some(head) = encode(&ours(), &tokens, state) else {
        assert!(tokens.is_empty(), "only a state of no tokens has no artifact");
        return;
    };
    let good = [&head[..], state].concat();
    let (said, kept) = decode(&good, &ours()).expect("a whole artifact");
    assert_eq!((said.tokens, said.origin, kept), (tokens.clone(), ours(), state));
    let mut bad = good.clone();
    let place = (usize::from(*at) * 256 + usize::from(*to)) % good.len();
    match how % 4 {
        0 => bad.truncate(place),
        1 => bad[place] ^= 1 << (to % 8),
        2 => bad.push(*to),
        _ => bad.splice(place..place, [*to]).for_each(drop),
    }
    assert!(decode(&bad, &ours()).is_err(), "{how} at {place} was not seen");
    whole_and_in_two_reads_agree(&bad);
    let other = Origin { model: "n".repeat(64), ..ours() };
    assert!(matches!(decode(&good, &other), Err(Reject::Foreign { .. })));
    let newer = Origin { runtime: "mock 2 (cpu)".into(), ..ours() };
    assert!(matches!(decode(&good, &newer), Err(Reject::Stale { .. })));
}

/// Who reads the head first, and the state only then, sees what somebody sees who reads it all.
fn whole_and_in_two_reads_agree(bytes: &[u8]) {
    let whole = decode(bytes, &ours()).map(|(head, _)| head);
    let parts = || {
        let cut = Reject::Torn { what: "its head is cut off".into() };
        let prefix: &[u8; PREFIX] = bytes.first_chunk().ok_or(cut.clone())?;
        let length = usize::try_from(head_len(prefix)?).expect("bounded");
        let (head, state) = bytes.split_at_checked(length).ok_or(cut)?;
        let head = Head::decode(head, &ours())?;
        head.admits(state)?;
        Ok(head)
    };
    assert_eq!(whole, parts());
}
