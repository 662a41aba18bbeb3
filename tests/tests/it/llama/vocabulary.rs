//! The real vocabulary: text to tokens and back, from any thread, of any length.

use super::given;
use std::sync::Arc;

#[test]
fn text_survives_the_way_there_and_back() {
    let Some(model) = given::small_model(1, 512) else { return };
    for text in [
        "",
        "Hello, world!",
        "  two  spaces\n\n\ttab",
        "Grüße, 日本語, 🦀🧪",
        "<|im_start|> is plain text here",
        "a\0b",
    ] {
        let tokens = model.vocabulary.tokenize(text, false, false).expect("tokens");
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| model.vocabulary.piece(*token)).collect();
        assert_eq!(String::from_utf8(bytes).expect("UTF-8"), text);
    }
}

#[test]
fn control_tokens_are_parsed_where_asked_and_print_nothing() {
    let Some(model) = given::small_model(1, 512) else { return };
    let vocabulary = &model.vocabulary;
    let [start] = vocabulary.tokenize("<|im_start|>", true, false).expect("tokens")[..] else {
        panic!("one token")
    };
    let [end] = vocabulary.tokenize("<|im_end|>", true, false).expect("tokens")[..] else {
        panic!("one token")
    };
    assert!(vocabulary.is_end(end) && !vocabulary.is_end(start));
    assert!(vocabulary.piece(start).is_empty() && vocabulary.piece(end).is_empty());
    assert!(vocabulary.tokenize("<|im_start|>", false, false).expect("tokens").len() > 1);
    assert_eq!(
        (vocabulary.bos_text().as_str(), vocabulary.eos_text().as_str()),
        ("<|im_start|>", "<|im_end|>")
    );
}

#[test]
fn begin_of_text_comes_once() {
    let Some(model) = given::sliding_model(1, 512) else { return };
    let vocabulary = &model.vocabulary;
    let bare = vocabulary.tokenize("Hello", true, false).expect("tokens");
    let begun = vocabulary.tokenize("Hello", true, true).expect("tokens");
    assert_eq!(begun[1..], bare[..]);
    let written = format!("{}Hello", vocabulary.bos_text());
    assert_eq!(vocabulary.tokenize(&written, true, true).expect("tokens"), begun);
}

#[test]
fn ids_outside_the_vocabulary_are_nothing() {
    let Some(model) = given::small_model(1, 512) else { return };
    for token in [model.vocabulary.size(), u32::MAX, 1 << 31] {
        assert!(model.vocabulary.piece(token).is_empty() && !model.vocabulary.is_end(token));
    }
}

#[test]
fn threads_tokenize_long_texts_at_once() {
    let Some(model) = given::small_model(1, 512) else { return };
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20_000);
    let expected = model.vocabulary.tokenize(&text, true, true).expect("tokens");
    assert!(expected.len() > 100_000);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (vocabulary, text) = (Arc::clone(&model.vocabulary), text.clone());
            std::thread::spawn(move || vocabulary.tokenize(&text, true, true).expect("tokens"))
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), expected);
    }
}

#[test]
fn a_text_without_any_break_is_tokenized_too() {
    let Some(model) = given::small_model(1, 512) else { return };
    for unit in ["a", "é", "1", " ", "\n", "🦀", "!"] {
        let text = unit.repeat(200_000);
        let tokens = model.vocabulary.tokenize(&text, true, true).expect("tokens");
        let bytes: usize = tokens.iter().map(|token| model.vocabulary.piece(*token).len()).sum();
        assert_eq!(bytes, text.len(), "{unit:?}");
    }
}
