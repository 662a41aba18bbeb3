//! A few of the crash runs that `benches/crashes.rs` makes by the hundred.

use serde_json::{Value, json};
use superfluid_tests::crashes::{Blow, Dice, read, round};
use superfluid_tests::daemon::Setup;

const PATH: &str = "/v1/completions";

fn body(index: usize) -> Value {
    json!({
        "model": "tiny", "prompt": format!("prompt {index}"), "max_tokens": 48, "ignore_eos": true,
        "temperature": index % 2, "seed": index,
        "stream": true, "stream_options": {"include_usage": true},
    })
}

#[cfg(target_os = "linux")]
#[test]
fn case_f02_streams_outlive_kills_and_stops_at_any_token() {
    let home = tempfile::tempdir().expect("a folder");
    let model = home.path().join("tiny.gguf");
    std::fs::write(&model, r#"{"mock":1,"decode_us":3000}"#).expect("written");
    let setup = Setup::new(&model, &home.path().join("home"));
    let daemon = setup.arguments(&["--runtime", "mock", "--hang-timeout", "2"]).start();
    let daemon = daemon.unwrap_or_else(|ended| panic!("it ended: {}", ended.stderr));
    let bodies: Vec<Value> = (0..4).map(body).collect();
    let whole: Vec<_> =
        bodies.iter().map(|body| read(&daemon, PATH, body, &|| ()).expect("a stream")).collect();
    assert!(whole.iter().all(|said| said.finish == "length" && said.tokens[1] == 48), "{whole:?}");
    let mut dice = Dice::new(7);
    for (blow, times) in [(Blow::Kill, 8), (Blow::Stop, 2)] {
        let mut hit = 0;
        while hit < times {
            let at = dice.below(120);
            let Some(round) = round(&daemon, PATH, &bodies, blow, at).expect("streams that end well") else {
                continue;
            };
            assert_eq!(round.streams, whole, "{blow:?} after {at} events");
            hit += 1;
        }
    }
}
