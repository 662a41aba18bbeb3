//! Workers that die mid-stream: the client reads what it would have read undisturbed.

use crate::daemon::{Daemon, kill, rest, until};
use serde_json::Value;
use std::io::Read;

/// Words, characters split over tokens, and beginnings of the stop string; then the stop string.
fn story(decode_us: u32, faults: &str) -> String {
    let mut reply = String::new();
    for word in 0..24 {
        reply += &format!(r#"" w{word}",[240,159],[152,138],"ST","OX","#);
    }
    reply += r#""ST","OP","never""#;
    format!(
        r#"{{"mock":1,"decode_us":{decode_us},"replies":[{{"prompt":"story","reply":[{reply}]}},{{"prompt":"","reply":["quick"]}}],"faults":[{faults}]}}"#
    )
}

fn request(prompt: &str, seeded: bool) -> String {
    let sampling = if seeded { r#""temperature":1,"seed":11"# } else { r#""temperature":0"# };
    format!(
        r#"{{"model":"tiny","stream":true,"stream_options":{{"include_usage":true}},"max_tokens":100,"stop":"STOP",{sampling},"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
    )
}

/// What a stream said.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    finish: String,
    tokens: [u64; 2],
}

fn said(reply: &mut impl Read) -> Said {
    parse(&rest(reply))
}

fn parse(reply: &str) -> Said {
    let mut said = Said { text: String::new(), finish: String::new(), tokens: [0; 2] };
    let lines: Vec<&str> = reply.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(lines.last(), Some(&"[DONE]"), "{reply}");
    let mut roles = 0;
    for line in &lines[..lines.len() - 1] {
        let chunk: Value = serde_json::from_str(line).unwrap();
        let choice = &chunk["choices"][0];
        said.text += choice["delta"]["content"].as_str().unwrap_or_default();
        roles += usize::from(choice["delta"]["role"].is_string());
        if let Some(finish) = choice["finish_reason"].as_str() {
            assert!(said.finish.is_empty(), "two ends: {reply}");
            said.finish = finish.into();
        }
        if chunk["usage"].is_object() {
            let usage = &chunk["usage"];
            assert_eq!(said.tokens, [0; 2], "usage counts once: {reply}");
            said.tokens = ["prompt_tokens", "completion_tokens"].map(|key| usage[key].as_u64().unwrap());
        }
    }
    assert_eq!(roles, 1, "{reply}");
    said
}

/// The worker dies before the n-th token, once for each prompt.
#[test]
fn case_f02_a_worker_that_dies_before_any_token_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let cuts = [1, 2, 3, 4, 5, 6, 20, 99];
    let faults: Vec<String> = cuts
        .iter()
        .flat_map(|nth| ["greedy", "seeded"].map(|kind| (nth, kind)))
        .map(|(nth, kind)| {
            let once = temp.path().join(format!("{kind}{nth}"));
            format!(
                r#"{{"at":"token","do":"abort","nth":{nth},"prompt":"{kind}{nth} story","once":{once:?}}}"#
            )
        })
        .collect();
    let undisturbed = Daemon::start(&story(0, ""));
    let marks = temp.path().display().to_string();
    let daemon = Daemon::start_with(&story(0, &faults.join(",")), &["--allow-write", &marks]);
    for seeded in [false, true] {
        for nth in cuts {
            let body = request(&format!("{}{nth} story", if seeded { "seeded" } else { "greedy" }), seeded);
            let whole = said(&mut undisturbed.post(&body));
            assert!(seeded || whole.text.contains(" w1\u{1f60a}STOX"), "{whole:?}");
            assert_eq!(said(&mut daemon.post(&body)), whole, "dead before token {nth}, seeded {seeded}");
        }
    }
    let died = std::fs::read_dir(temp.path()).unwrap().count();
    assert!(died > cuts.len(), "every greedy run and some seeded ones met their fault");
    assert_eq!(daemon.health()["restarts"], died);
}

#[cfg(target_os = "linux")]
#[test]
fn case_f02_four_streams_outlive_their_worker_s_sigkill() {
    let daemon = Daemon::start(&story(3000, ""));
    let bodies: Vec<String> = (0..4).map(|n| request(&format!("story {n}"), n % 2 == 1)).collect();
    let whole: Vec<Said> = bodies.iter().map(|body| said(&mut daemon.post(body))).collect();
    for (kills, needle) in [" w0", " w3", " w9"].into_iter().enumerate() {
        let mut replies: Vec<_> = bodies.iter().map(|body| daemon.post(body)).collect();
        let mut first = Recorded(&mut replies[0], String::new());
        first.until(needle);
        kill("-KILL", daemon.worker());
        let text = first.1 + &rest(&mut replies[0]);
        assert_eq!(parse(&text), whole[0]);
        for (reply, whole) in replies[1..].iter_mut().zip(&whole[1..]) {
            assert_eq!(said(reply), *whole);
        }
        // On a slow machine they may have ended before the kill.
        while daemon.health()["restarts"] != kills + 1 {}
    }
}

/// Keeps what it reads on the way.
struct Recorded<'a, R>(&'a mut R, String);

impl<R: std::io::BufRead> Recorded<'_, R> {
    fn until(&mut self, needle: &str) {
        while !self.1.contains(needle) {
            assert!(self.0.read_line(&mut self.1).unwrap() > 0, "it ended before {needle:?}: {}", self.1);
        }
    }
}

#[test]
fn case_f04_poison_is_failed_after_two_deaths_and_the_streams_beside_it_go_on() {
    let fault = r#"{"at":"prefill","do":"abort","nth":0,"prompt":"poison"}"#;
    let daemon = Daemon::start(&story(3000, fault));
    let bodies = [request("story one", false), request("story two", true)];
    let whole = bodies.each_ref().map(|body| said(&mut daemon.post(body)));
    let mut replies = bodies.each_ref().map(|body| daemon.post(body));
    for reply in &mut replies {
        until(reply, "200 OK");
        until(reply, "\"role\"");
    }
    let refused = rest(&mut daemon.ask("poison", false));
    assert!(refused.starts_with("HTTP/1.1 500") && refused.contains("worker_failed"), "{refused}");
    assert!(refused.contains("twice in a row") && refused.contains("SIGABRT"), "{refused}");
    for (reply, whole) in replies.iter_mut().zip(&whole) {
        let text = rest(reply);
        assert!(!text.contains("\"error\""), "{text}");
        // The chunk with the role was read above.
        let text = format!("data: {{\"choices\":[{{\"delta\":{{\"role\":\"assistant\"}}}}]}}\n{text}");
        assert_eq!(parse(&text), *whole);
    }
    assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
    assert_eq!(daemon.health()["restarts"], 2);
}

/// What is deleted stays deleted, however often the worker is started again.
#[cfg(target_os = "linux")]
#[test]
fn streams_whose_model_is_gone_end_with_the_reason_and_the_model_heals_when_it_is_back() {
    let mut daemon = Daemon::start(&story(3000, ""));
    let mut replies = ["story 1", "story 2"].map(|prompt| daemon.post(&request(prompt, false)));
    replies.iter_mut().for_each(|reply| until(reply, " w0"));
    let model = daemon._temp.path().join("tiny.gguf");
    let script = std::fs::read(&model).unwrap();
    std::fs::remove_file(&model).unwrap();
    kill("-KILL", daemon.worker());
    for reply in &mut replies {
        let text = rest(reply);
        assert!(
            text.contains("\"code\":\"model_unavailable\"") && text.contains("can't be loaded again"),
            "{text}"
        );
    }
    assert_eq!(daemon.health()["restarts"], 1, "one try told enough");
    let said = daemon.line("a later request tries again");
    assert!(said.contains("hint"), "{said}");
    std::fs::write(&model, script).unwrap();
    assert!(rest(&mut daemon.post_to("/v1/models/load", r#"{"model":"tiny"}"#)).starts_with("HTTP/1.1 200"));
    assert!(rest(&mut daemon.ask("hi", false)).contains("quick"));
}
