//! What the hub's refusals come to, each with what to do next.

use superfluid_core::pull::{Answer, Endpoint, ModelId, Settings, refused};

fn told(status: u16, code: Option<&str>, token: bool) -> (String, String) {
    let settings = Settings { endpoint: Endpoint::parse("https://hub.example").expect("one"), token };
    let answer = Answer { status, code: code.map(String::from), ..Answer::default() };
    let id = ModelId::parse("a/m-GGUF:Q8_0").expect("an id");
    let refusal = refused(&id, &settings, "m-Q8_0.gguf of a/m-GGUF", &answer);
    assert!(!refusal.hints.is_empty(), "{refusal:?}");
    (refusal.code.clone(), format!("{} | {}", refusal.message, refusal.hints.join(" | ")))
}

#[test]
fn each_status_says_what_happened_and_what_to_do() {
    for (status, error, token, code, words) in [
        (401, Some("RepoNotFound"), false, "no_such_model", "has no model a/m-GGUF, or it is private"),
        (401, None, true, "bad_token", "does not accept the token"),
        (401, Some("GatedRepo"), false, "gated_model", "then set HF_TOKEN"),
        (403, Some("GatedRepo"), true, "gated_model", "accept its terms at https://hub.example/a/m-GGUF"),
        (403, None, true, "forbidden", "HF_TOKEN"),
        (403, None, false, "forbidden", "set HF_TOKEN"),
        (404, Some("RepoNotFound"), true, "no_such_model", "private"),
        (404, Some("RevisionNotFound"), false, "no_such_revision", "tree/main"),
        (404, Some("EntryNotFound"), false, "no_such_file", "m-Q8_0.gguf of a/m-GGUF"),
        (429, None, false, "rate_limited", "HF_TOKEN"),
        (500, None, false, "http_status", "status 500"),
    ] {
        let (got, said) = told(status, error, token);
        assert_eq!(got, code, "{status} {error:?}");
        assert!(said.contains(words), "{status} {error:?}: {said}");
    }
}
