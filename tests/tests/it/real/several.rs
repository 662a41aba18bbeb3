//! Two models of one real llama.cpp, each with a worker of its own.

use super::parting::{Bare, MARGIN};
use super::{FRANCE, Served, content, serve, with};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use superfluid_tests::crashes::read;
use superfluid_tests::{http, things};

/// Tokens of the stream whose worker is killed; the other's has half as many.
const TOKENS: usize = 96;

const PROMPTS: [&str; 2] = ["The quick brown fox", "Water boils at one hundred degrees because"];

/// The worker that has `file` open.
fn worker(served: &Served, file: &str) -> i32 {
    let has = |id: &u32| {
        fs::read_to_string(format!("/proc/{id}/maps")).is_ok_and(|maps| maps.contains(&format!("/{file}")))
    };
    let id = served.daemon.workers().into_iter().find(has).unwrap_or_else(|| panic!("no worker has {file}"));
    i32::try_from(id).expect("an id")
}

fn counted(served: &Served, what: &str, model: &str) -> String {
    let text = http::get(served.daemon.address(), "/metrics").expect("an answer").text();
    let begin = format!("{what}{{model=\"{model}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_else(|| panic!("{text}")).to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn row_a5_clients_of_a_model_notice_nothing_of_another_s_crash() {
    let Some(model) = things::need(things::small_model()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let twin = folder.path().join("twin.gguf");
    fs::copy(&model, &twin).expect("a copy");
    let Some(served) = serve(&["--model", &twin.display().to_string()]) else { return };
    while http::get(served.daemon.address(), "/ready").expect("an answer").status != 200 {
        thread::yield_now();
    }
    let question = served.question(FRANCE);
    let answers =
        [&*served.model, "twin"].map(|model| served.chat(&with(&question, json!({"model": model}))));
    assert!(content(&answers[0]).contains("Paris"), "{}", answers[0]);
    assert_eq!(content(&answers[1]), content(&answers[0]), "the same weights say the same");

    // Row G1, G4: each is described by the record that its own worker reported.
    let listed = http::get(served.daemon.address(), "/v1/models").expect("an answer").json();
    for entry in listed["data"].as_array().expect("a list") {
        let record = &entry["capabilities"];
        assert_eq!(record["runtime"]["id"], "llamacpp", "{entry}");
        let why = &record["modalities"]["image_encode"];
        assert_eq!(*why, "the llamacpp runtime has no media path", "{entry}");
    }

    let bare = Bare::open(served.home(), &model);
    let prompts = PROMPTS.map(|prompt| bare.tokens(prompt));
    let body = |model: &str, prompt: usize, tokens: usize| -> Value {
        json!({
            "model": model, "prompt": prompts[prompt], "temperature": 0, "max_tokens": tokens,
            "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true},
        })
    };
    let bodies = [body(&served.model, 0, TOKENS), body("twin", 1, TOKENS / 2)];
    let file = model.file_name().expect("a name").to_string_lossy();
    let (struck, stays) = (worker(&served, &file), worker(&served, "twin.gguf"));
    let events = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let hit = AtomicBool::new(false);
    // Both are under way.
    let told = |which: usize| {
        events[which].fetch_add(1, Ordering::Relaxed);
        if events.iter().all(|events| events.load(Ordering::Relaxed) > 3)
            && !hit.swap(true, Ordering::Relaxed)
        {
            kill_process(Pid::from_raw(struck).expect("an id"), Signal::KILL).expect("it lives");
        }
    };
    let said = thread::scope(|scope| {
        let streams = [0, 1].map(|which| {
            let (daemon, bodies, told) = (&served.daemon, &bodies, &told);
            scope.spawn(move || read(daemon, "/v1/completions", &bodies[which], &|| told(which)))
        });
        streams.map(|stream| stream.join().expect("it reads").expect("a stream that ends well"))
    });
    assert!(hit.into_inner(), "the streams ended before the blow");
    for (which, tokens) in [TOKENS, TOKENS / 2].into_iter().enumerate() {
        let said = &said[which];
        assert_eq!((said.tokens, &*said.finish), ([prompts[which].len() as u64, tokens as u64], "length"));
        let worst = bare.worst(&prompts[which], &said.text);
        assert!(worst <= MARGIN, "a token lies {worst} below the best: {:?}", said.text);
    }
    let [restarts, continued] = ["superfluid_worker_restarts_total", "superfluid_continuations_total"];
    assert_eq!(
        [counted(&served, restarts, &served.model), counted(&served, continued, &served.model)],
        ["1", "1"]
    );
    assert_eq!([counted(&served, restarts, "twin"), counted(&served, continued, "twin")], ["0", "0"]);
    assert_eq!(worker(&served, "twin.gguf"), stays, "its worker is the one it was");
    assert_ne!(worker(&served, &file), struck);
}
