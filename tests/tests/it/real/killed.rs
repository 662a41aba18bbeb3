//! The worker is killed under four streams; each goes on as the model would have.

use super::parting::{Bare, MARGIN};
use super::serve;
use serde_json::{Value, json};
use superfluid_core::sched::Token;
use superfluid_tests::crashes::{Blow, Dice, round};
use superfluid_tests::things;

const PROMPTS: [&str; 4] =
    ["The quick brown fox", "In 1969,", "def fibonacci(n):\n", "Water boils at one hundred degrees because"];

const TOKENS: usize = 32;

#[cfg(target_os = "linux")]
#[test]
fn case_f02_what_follows_a_kill_is_what_the_model_says_next() {
    let Some(served) = serve(&[]) else { return };
    let model = things::need(things::small_model()).expect("it is being served");
    let bare = Bare::open(served.home(), &model);
    let prompts: Vec<Vec<Token>> = PROMPTS.iter().map(|prompt| bare.tokens(prompt)).collect();
    let body = |prompt: &Vec<Token>| {
        json!({
            "model": served.model, "prompt": prompt, "temperature": 0, "max_tokens": TOKENS, "ignore_eos": true,
            "stream": true, "stream_options": {"include_usage": true},
        })
    };
    let bodies: Vec<Value> = prompts.iter().map(body).collect();
    let mut dice = Dice::new(3);
    let mut hit = 0;
    while hit < 3 {
        let at = dice.below(TOKENS * 2);
        let killed = round(&served.daemon, "/v1/completions", &bodies, Blow::Kill, at);
        let Some(killed) = killed.expect("streams that end well") else { continue };
        for (prompt, said) in prompts.iter().zip(&killed.streams) {
            assert_eq!((said.tokens, &*said.finish), ([prompt.len() as u64, TOKENS as u64], "length"));
            let worst = bare.worst(prompt, &said.text);
            assert!(
                worst <= MARGIN,
                "after {at} events a token lies {worst} below the best: {:?}",
                said.text
            );
        }
        hit += 1;
    }
}
