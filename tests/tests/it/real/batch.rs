//! Eight at once: all complete, and each says what it would have said alone.

use super::parting::{Bare, MARGIN};
use super::{FRANCE, Served, content, joined, serve, with};
use serde_json::json;
use std::thread;
use superfluid_core::sched::Token;
use superfluid_tests::things;

/// Prompts of unlike lengths, continued as plain text.
const PROMPTS: [&str; 8] = [
    "The quick brown fox",
    "Water boils at one hundred degrees because",
    "Once upon a time, in a small village by the sea, there lived an old fisherman who",
    "Here is a list of the planets of the solar system:\n1.",
    "def fibonacci(n):\n",
    "The three most important things about writing well are that a writer should read a lot, that",
    "In 1969,",
    "Dear Sir or Madam,\n\nI am writing to you about the letter that I received from your office last week, in which",
];

const TOKENS: usize = 48;

#[test]
fn eight_streams_at_once_all_complete() {
    let Some(served) = serve(&[]) else { return };
    let asked: Vec<String> = (1..8).map(|n| format!("Write a sentence about the number {n}.")).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).chain([FRANCE]).collect();
    let answers = at_once(&asked, |question| served.stream(&served.question(question)));
    for (question, events) in asked.iter().zip(&answers) {
        let finish = events.iter().filter_map(|event| event["choices"][0]["finish_reason"].as_str());
        let finish: Vec<_> = finish.collect();
        assert!(finish == ["stop"] || finish == ["length"], "{question}: {finish:?}");
        assert!(!joined(events).trim().is_empty(), "{question}: no text");
    }
    assert!(joined(&answers[7]).contains("Paris"), "{}", joined(&answers[7]));
}

/// More requests than lanes: the rest wait their turn.
#[test]
fn twenty_requests_at_eight_lanes_all_complete() {
    let Some(served) = serve(&[]) else { return };
    let asked = [FRANCE; 20];
    let capped = json!({"max_tokens": 12});
    let answers = at_once(&asked, |question| served.chat(&with(&served.question(question), capped.clone())));
    for answer in answers {
        assert!(content(&answer).contains("Paris"), "{answer}");
    }
}

/// Batches of another shape move logits by rounding, so where two texts part, both candidates must
/// lie within [`MARGIN`] of the best in a teacher-forced pass; anywhere else they may not part.
#[test]
fn greedy_text_is_the_same_alone_and_among_seven_others_until_rounding_decides() {
    let Some(served) = serve(&[]) else { return };
    let model = things::need(things::small_model()).expect("it is being served");
    let bare = Bare::open(served.home(), &model);
    let prompts: Vec<Vec<Token>> = PROMPTS.iter().map(|prompt| bare.tokens(prompt)).collect();
    let expected: Vec<Vec<Token>> = prompts.iter().map(|prompt| bare.greedy(prompt, TOKENS)).collect();
    let alone: Vec<String> = prompts.iter().map(|prompt| complete(&served, prompt)).collect();
    let among = at_once(&prompts, |prompt| complete(&served, prompt));

    let mut same = 0;
    for (index, prompt) in prompts.iter().enumerate() {
        for (how, text) in [("alone", &alone[index]), ("among seven", &among[index])] {
            match bare.gap(prompt, &expected[index], text) {
                None => same += 1,
                Some(gap) => {
                    eprintln!("{how}, {:?} parts at a gap of {gap:.3}", PROMPTS[index]);
                    assert!(gap <= MARGIN, "{how}, {:?} parts at a gap of {gap}:\n{text}", PROMPTS[index]);
                }
            }
        }
    }
    // Rounding decides now and then, not everywhere.
    assert!(same >= 8, "only {same} of 16 texts are the bare loop's");
}

/// The greedy continuation of a prompt, past any end of text.
fn complete(served: &Served, prompt: &[Token]) -> String {
    let body = json!({"model": served.model, "prompt": prompt, "temperature": 0, "max_tokens": TOKENS, "ignore_eos": true});
    let answer = served.post("/v1/completions", &body);
    assert_eq!(answer["usage"]["completion_tokens"], TOKENS);
    assert_eq!(answer["usage"]["prompt_tokens"], prompt.len());
    answer["choices"][0]["text"].as_str().expect("text").to_owned()
}

/// Asks everything at the same time.
fn at_once<T: Sync, A: Send>(asked: &[T], ask: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let ask = &ask;
    thread::scope(|scope| {
        let threads: Vec<_> = asked.iter().map(|one| scope.spawn(move || ask(one))).collect();
        threads.into_iter().map(|thread| thread.join().expect("answered")).collect()
    })
}
