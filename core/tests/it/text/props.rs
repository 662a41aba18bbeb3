//! Text machines against the obvious: decode everything, cut at the leftmost stop string.

use proptest::collection::vec;
use proptest::prelude::*;
use superfluid_core::text::{TextOut, Utf8Assembler, Verdict};

/// Bytes that often are, or nearly are, characters and stop strings of a small alphabet.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[ab\n]{1,3}".prop_map(String::into_bytes),
        2 => Just("\u{8d4b}".into()),
        2 => Just("\u{1f60a}".into()),
        1 => Just("\u{fffd}".into()),
        1 => prop_oneof![Just(0xff_u8), Just(0xc3), Just(0xe8), Just(0xf0), Just(0x9f), Just(0xed), Just(0xa0)]
            .prop_map(|byte| vec![byte]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    vec(piece, 0..40).prop_map(|pieces: Vec<Vec<u8>>| pieces.concat())
}

fn stops() -> impl Strategy<Value = Vec<String>> {
    vec("[ab\n\u{8d4b}\u{1f60a}\u{fffd}]{0,4}", 0..4)
}

/// The same bytes in pieces, some of them empty.
fn pieces() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<u8>>)> {
    (bytes(), vec(0..5_usize, 1..60)).prop_map(|(bytes, sizes)| {
        let mut rest = &bytes[..];
        let mut pieces = Vec::new();
        for size in sizes {
            let (piece, tail) = rest.split_at(size.min(rest.len()));
            pieces.push(piece.to_vec());
            rest = tail;
        }
        pieces.push(rest.to_vec());
        (bytes, pieces)
    })
}

fn reference(bytes: &[u8], stops: &[String]) -> (String, Verdict) {
    let text = String::from_utf8_lossy(bytes);
    match stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min() {
        Some(end) => (text[..end].to_owned(), Verdict::Stop),
        None => (text.into_owned(), Verdict::GoOn),
    }
}

proptest! {
    #[test]
    fn text_is_the_decoding_of_all_bytes_cut_at_the_first_stop(
        (bytes, pieces) in pieces(),
        stops in stops(),
        take in vec(any::<bool>(), 61),
    ) {
        let mut out = TextOut::new(&stops);
        let (mut text, mut covered) = (String::new(), 0);
        let mut verdict = Verdict::GoOn;
        for (index, piece) in pieces.iter().enumerate() {
            let said = out.push(piece);
            prop_assert!(verdict == Verdict::GoOn || said == Verdict::Stop, "a stop was taken back");
            verdict = said;
            if take[index] {
                text.push_str(&out.take_ready());
                covered += out.take_covered();
                // Tokens that are covered have all their bytes in the text so far, or it is over.
                let through: Vec<u8> = pieces[..covered].concat();
                let whole = String::from_utf8_lossy(&through);
                prop_assert!(out.is_over() || text.starts_with(whole.trim_end_matches(char::REPLACEMENT_CHARACTER)));
            }
        }
        verdict = out.finish();
        text.push_str(&out.take_ready());
        covered += out.take_covered();
        prop_assert_eq!((text, verdict), reference(&bytes, &stops));
        prop_assert_eq!(covered, pieces.len());
    }

    #[test]
    fn nothing_certain_is_held_back((bytes, pieces) in pieces(), stops in stops()) {
        let (mut out, mut utf8) = (TextOut::new(&stops), Utf8Assembler::new());
        let (mut text, mut seen) = (String::new(), String::new());
        for piece in &pieces {
            utf8.push(piece, &mut seen);
            out.push(piece);
            text.push_str(&out.take_ready());
            // Whatever whole characters follow, the part that all endings share stands.
            let mut certain = reference(seen.as_bytes(), &stops).0;
            for stop in &stops {
                for (at, _) in stop.char_indices() {
                    let ending = reference([&seen, &stop[at..]].concat().as_bytes(), &stops).0;
                    let shared = certain.chars().zip(ending.chars()).take_while(|(a, b)| a == b);
                    certain.truncate(shared.map(|(a, _)| a.len_utf8()).sum());
                }
            }
            prop_assert!(text.starts_with(&certain), "{:?} lacks {:?}", text, certain);
        }
        prop_assert!(reference(&bytes, &stops).0.starts_with(&text));
    }

    #[test]
    fn an_assembler_is_lossy_decoding((bytes, pieces) in pieces()) {
        let mut assembler = Utf8Assembler::new();
        let mut out = String::new();
        for piece in &pieces {
            assembler.push(piece, &mut out);
            prop_assert!(assembler.held() <= 3);
        }
        assembler.finish(&mut out);
        prop_assert_eq!(out, String::from_utf8_lossy(&bytes));
    }
}
