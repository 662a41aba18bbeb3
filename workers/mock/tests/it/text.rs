//! Text for the client: whole characters, stop strings, log probabilities.

use crate::link::{Link, job};
use superfluid_core::sched::Finish;
use superfluid_worker_mock::{Piece, Reply, Script};

fn replying(pieces: &[&[u8]]) -> Script {
    let reply = pieces.iter().map(|bytes| Piece::Bytes(bytes.to_vec())).collect();
    Script { replies: vec![Reply { prompt: "q".into(), reply }], ..Script::default() }
}

#[test]
fn case_s01_characters_split_over_tokens_come_whole() {
    let pieces: [&[u8]; 7] = [b"\xe8\xb5", b"\x8b", b"\xf0", b"\x9f\x98", b"\x8a", b" \xf0\x9f", b"\x91\x8d"];
    let told = Link::ready(replying(&pieces)).ask(job(0, "q", 50));
    assert_eq!(told.pieces, ["赋", "😊", " ", "👍"]);
    assert_eq!((told.finish(), told.tokens.len()), (Finish::Stop, 8));
    let told = Link::ready(replying(&[b"a", b"\xff", b"b", b"\xc3"])).ask(job(0, "q", 50));
    assert_eq!(told.text(), "a\u{fffd}b\u{fffd}");
}

#[test]
fn case_s03_text_ends_exactly_before_a_stop_string() {
    let mut asked = job(0, "q", 50);
    asked.stop = vec!["\nUser:".into()];
    let told = Link::ready(replying(&[b"hi", b"\nUs", b"er", b": x", b"y"])).ask(asked.clone());
    assert_eq!((told.text().as_str(), told.finish(), told.tokens.len()), ("hi", Finish::Stop, 4));
    let told = Link::ready(replying(&[b"hi", b"\nUs", b"ing"])).ask(asked.clone());
    assert_eq!((told.text().as_str(), told.finish()), ("hi\nUsing", Finish::Stop));
    asked.max_tokens = Some(2);
    let told = Link::ready(replying(&[b"hi", b"\nUs", b"er:"])).ask(asked);
    assert_eq!((told.text().as_str(), told.finish()), ("hi\nUs", Finish::Length));
}

#[test]
fn case_s11_each_token_has_one_logprob_entry_with_its_own_bytes() {
    let mut asked = job(0, "q", 50);
    asked.logprobs = Some(2);
    let pieces: [&[u8]; 4] = [b"a", b"\xe8\xb5", b"\x8b", b"b"];
    let told = Link::ready(replying(&pieces)).ask(asked);
    assert_eq!(told.logprobs.len(), told.tokens.len());
    let bytes: Vec<u8> = told.logprobs.iter().flat_map(|entry| entry.bytes.clone()).collect();
    assert_eq!(bytes, told.text().as_bytes());
    assert!(told.logprobs.iter().all(|entry| entry.top.len() == 2 && entry.logprob <= 0.0));
    assert!(told.logprobs.iter().all(|entry| entry.top[0].bytes == entry.bytes), "greedy takes the first");
}

/// A worker that takes over after any token goes on as the first would have.
#[test]
fn a_continued_job_says_what_it_would_have_said_wherever_it_was_cut() {
    let pieces: [&[u8]; 8] = [b"hi ", b"\xf0\x9f", b"\x98\x8a", b"ST", b"OX", b"\xe8", b"S", b"TOP!"];
    for sampled in [false, true] {
        let script = if sampled { Script::default() } else { replying(&pieces) };
        let mut asked = job(0, "q", 40);
        asked.stop = vec!["STOP".into()];
        asked.logprobs = Some(1);
        asked.ignore_eos = sampled;
        if sampled {
            asked.sampling.temperature = 1.0;
            asked.sampling.seed = 7;
            asked.sampling.frequency_penalty = 0.5;
            asked.sampling.repeat_penalty = 1.1;
        }
        let whole = Link::ready(script.clone()).ask(asked.clone());
        let mut link = Link::ready(script);
        for cut in 1..=whole.tokens.len() {
            let mut rest = asked.clone();
            rest.committed = whole.tokens[..cut].to_vec();
            rest.delivered = whole.kept[cut - 1].delivered;
            rest.held.clone_from(&whole.kept[cut - 1].held);
            assert_eq!(rest.delivered.logprobs as usize + rest.held.len(), cut);
            let (text, logprobs) = (rest.delivered.text as usize, rest.delivered.logprobs as usize);
            let told = link.ask(rest);
            assert_eq!(told.tokens, whole.tokens[cut..], "cut at {cut}");
            assert_eq!(told.finish(), whole.finish());
            let usage = told.end.as_ref().unwrap().as_ref().unwrap().1;
            assert_eq!(usage.completion as usize, whole.tokens.len());
            assert_eq!(told.text(), whole.text()[text..], "cut at {cut}");
            assert_eq!(told.logprobs, whole.logprobs[logprobs..], "cut at {cut}");
        }
    }
}

/// The text that the last token set free came with it, or is still to be sent: the daemon knows.
#[test]
fn a_continued_job_that_has_no_room_left_sends_what_is_missing_and_no_more() {
    let script = replying(&[b"hi", b"ST", b"x"]);
    for (delivered, missing) in [(2, "ST"), (4, "")] {
        let mut asked = job(0, "q", 2);
        asked.stop = vec!["STOP".into()];
        asked.committed = Link::ready(script.clone()).ask(asked.clone()).tokens;
        asked.delivered.text = delivered;
        let told = Link::ready(script.clone()).ask(asked);
        assert_eq!((told.text().as_str(), told.finish()), (missing, Finish::Length));
    }
}
