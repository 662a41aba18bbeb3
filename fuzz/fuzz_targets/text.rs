//! Any bytes as tokens, any strings as stops: the decoding of all, cut at the leftmost stop.
#![no_main]

use superfluid_core::text::{TextOut, Verdict};

libfuzzer_sys::fuzz_target!(|input: (Vec<String>, Vec<&[u8]>)| {
    let (stops, tokens) = input;
    let mut out = TextOut::new(&stops);
    let (mut text, mut covered) = (String::new(), 0);
    for token in &tokens {
        out.push(token);
        text.push_str(&out.take_ready());
        covered += out.take_covered();
    }
    let verdict = out.finish();
    text.push_str(&out.take_ready());
    covered += out.take_covered();
    let all = tokens.concat();
    let whole = String::from_utf8_lossy(&all);
    let end = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| whole.find(stop.as_str())).min();
    assert_eq!(text, whole[..end.unwrap_or(whole.len())]);
    assert_eq!(verdict == Verdict::Stop, end.is_some());
    assert_eq!(covered, tokens.len());
});
