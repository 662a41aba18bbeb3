//! The rows of real faults: split characters, stop strings over several tokens.

use superfluid_core::text::{StopMachine, TextOut, Utf8Assembler, Verdict};

/// What each token brought for the client, and at last what the end brought.
fn stream(stops: &[&str], tokens: &[&[u8]]) -> (Vec<String>, Verdict) {
    let mut out = TextOut::new(stops);
    let mut pieces = Vec::new();
    let mut verdict = Verdict::GoOn;
    for token in tokens {
        verdict = out.push(token);
        pieces.push(out.take_ready());
        if verdict == Verdict::Stop {
            return (pieces, verdict);
        }
    }
    if out.finish() == Verdict::Stop {
        verdict = Verdict::Stop;
    }
    pieces.push(out.take_ready());
    (pieces, verdict)
}

#[test]
fn case_s01_characters_split_over_tokens_come_whole() {
    for (tokens, pieces) in [
        (&[&b"\xe8\xb5"[..], b"\x8b"][..], &["", "\u{8d4b}", ""][..]),
        (&[b"\xf0", b"\x9f", b"\x98", b"\x8a"], &["", "", "", "\u{1f60a}", ""]),
        (&[b"\x20\xf0\x9f", b"\x91\x8d"], &[" ", "\u{1f44d}", ""]),
        (&[b"\xff"], &["\u{fffd}", ""]),
        (&[b"\xc3"], &["", "\u{fffd}"]),
        (&[b"a\xff", b"b", b"\xe8\xb5", b"c"], &["a\u{fffd}", "b", "", "\u{fffd}c", ""]),
        (&[b"\xf0\x9f", b"\xf0\x9f\x98", b"\x8a"], &["", "\u{fffd}", "\u{1f60a}", ""]),
        // A surrogate and an overlong form are never valid: one U+FFFD each byte, as the standard says.
        (&[b"\xed", b"\xa0", b"\x80"], &["", "\u{fffd}\u{fffd}", "\u{fffd}", ""]),
        (&[b"\xc0", b"\x80"], &["\u{fffd}", "\u{fffd}", ""]),
    ] {
        assert_eq!(stream(&[], tokens), (pieces.iter().map(ToString::to_string).collect(), Verdict::GoOn));
    }
}

#[test]
fn an_assembler_says_what_it_holds() {
    let mut assembler = Utf8Assembler::new();
    let mut out = String::new();
    for (byte, held) in [(0xf0, 1), (0x9f, 2), (0x98, 3), (0x8a, 0)] {
        assembler.push(&[byte], &mut out);
        assert_eq!(assembler.held(), held);
    }
    assembler.push(b"", &mut out);
    assembler.finish(&mut out);
    assert_eq!(out, "\u{1f60a}");
}

#[test]
fn case_s03_text_ends_exactly_before_the_stop_string() {
    for (stops, tokens, pieces) in [
        (&["\nUser:"][..], &[&b"hi"[..], b"\nUs", b"er", b": x"][..], &["hi", "", "", ""][..]),
        (&["DEFGHIJ"], &[b"abcDEF", b"G", b"HI", b"Jkl"], &["abc", "", "", ""]),
        // The earlier position wins, whatever the order of the stop strings.
        (&["two", "one"], &[b"x one two"], &["x "]),
        (&["one", "two"], &[b"x one two"], &["x "]),
        // Inside one piece.
        (&["STOP"], &[b"before STOP after"], &["before "]),
        // At the very start.
        (&["STOP"], &[b"ST", b"OP"], &["", ""]),
        // Split inside a character of the stop string.
        (&["\u{1f60a}!"], &[b"ok\xf0\x9f", b"\x98\x8a", b"!"], &["ok", "", ""]),
        // A stop that overlaps itself.
        (&["aab"], &[b"aa", b"a", b"ab"], &["", "a", "a"]),
    ] {
        let expected = (pieces.iter().map(ToString::to_string).collect(), Verdict::Stop);
        assert_eq!(stream(stops, tokens), expected, "{stops:?} in {tokens:?}");
    }
}

#[test]
fn case_s03_what_never_became_a_stop_string_is_text() {
    let (pieces, verdict) = stream(&["\nUser:"], &[b"hi", b"\nUs", b"ing", b"\nUser"]);
    assert_eq!(verdict, Verdict::GoOn);
    assert_eq!(pieces, ["hi", "", "\nUsing", "", "\nUser"]);
}

#[test]
fn a_stop_that_started_earlier_is_waited_for() {
    let stops = ["abcd", "bc"];
    assert_eq!(stream(&stops, &[b"xabc", b"d"]), (vec!["x".into(), String::new()], Verdict::Stop));
    assert_eq!(stream(&stops, &[b"xabc", b"e"]), (vec!["x".into(), "a".into()], Verdict::Stop));
    assert_eq!(stream(&stops, &[b"xabc"]), (vec!["x".into(), "a".into()], Verdict::Stop));
}

#[test]
fn only_what_may_become_a_stop_string_is_held() {
    let mut machine = StopMachine::new(&["END", ""]);
    for (text, certain) in [("E", 0), ("E", 1), ("N", 1), ("x", 4)] {
        assert_eq!(machine.push(text), Verdict::GoOn);
        assert_eq!(machine.certain(), certain, "after {text}");
    }
    assert_eq!(machine.push("EN"), Verdict::GoOn);
    assert_eq!(machine.certain(), 4);
    assert_eq!(machine.finish(), Verdict::GoOn);
    assert_eq!(machine.certain(), 6);
}

#[test]
fn nothing_comes_after_a_stop() {
    let mut out = TextOut::new(&["."]);
    assert_eq!(out.push(b"a.b"), Verdict::Stop);
    assert!(out.is_over());
    assert_eq!(out.push(b"c"), Verdict::Stop);
    assert_eq!(out.finish(), Verdict::Stop);
    assert_eq!(out.take_ready(), "a");
    assert_eq!(out.take_ready(), "");
    assert_eq!(out.take_covered(), 2);
}

#[test]
fn case_s11_held_tokens_are_covered_once_and_in_time() {
    let mut out = TextOut::new(&["\nUser:"]);
    let mut counts = Vec::new();
    for token in
        [&b"\xf0"[..], b"\x9f", b"\x98\x8a\xe8", b"\xb5\x8b", b"x\nUs", b"", b"ing", b"\nUser", b": y"]
    {
        out.push(token);
        counts.push((out.take_covered(), out.take_ready()));
    }
    let expected = [
        (0, ""),
        (0, ""),
        (2, "\u{1f60a}"),
        (2, "\u{8d4b}"),
        (0, "x"),
        (0, ""),
        (3, "\nUsing"),
        (0, ""),
        (2, ""),
    ];
    assert_eq!(counts, expected.map(|(n, text)| (n, text.to_string())));
}
