//! Tokens, and what a hub gives out only to some.

use super::hub::{File, Hub, Ran};
use super::server::answer;

const TOKEN: &str = "hf_secret0123456789";

fn model() -> File {
    File::large("tiny-Q4_K_M.gguf", b"weights")
}

fn pull(hub: &Hub, env: &[(&str, &str)]) -> Ran {
    let ran = hub.run_with(&["pull", "org/tiny-GGUF"], env);
    assert!(!ran.stderr.contains("secret") && !ran.stdout.contains("secret"), "{ran:?}");
    ran
}

/// A hub whose API answers only a request that carries the token.
fn private(status: &'static str, code: &'static str) -> Hub {
    let headers = format!("X-Error-Code: {code}\r\nContent-Length: 0\r\n");
    Hub::with(
        &[model()],
        Box::new(move |asked, _| {
            let known = asked.authorization.as_deref() == Some(&format!("Bearer {TOKEN}"));
            (!known).then(|| (answer(status, &headers, b""), false))
        }),
        Box::new(|_, _| None),
    )
}

#[test]
fn case_x09_the_token_reaches_the_hub_and_no_other_host() {
    let hub = private("401 Unauthorized", "RepoNotFound");
    assert!(pull(&hub, &[("HF_TOKEN", TOKEN)]).path().exists());
    let api = hub.api.asked();
    assert!(api.len() == 3 && api.iter().all(|asked| asked.authorization.is_some()), "{api:?}");
    let store = hub.store.asked();
    assert!(store.len() == 1 && store[0].authorization.is_none(), "{store:?}");
}

#[test]
fn a_token_kept_by_the_hubs_own_tools_is_used_and_one_in_the_environment_goes_before() {
    let hub = private("401 Unauthorized", "RepoNotFound");
    std::fs::create_dir_all(hub.temp.path().join("hf")).expect("a folder");
    std::fs::write(hub.temp.path().join("hf/token"), format!("{TOKEN}\n")).expect("a token");
    assert!(pull(&hub, &[]).path().exists());
    let ran = pull(&hub, &[("HF_TOKEN", "another_secret")]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("does not accept the token"), "{}", ran.stderr);
    let ran = pull(&hub, &[("HF_TOKEN", "a secret\nof two lines")]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("the token in HF_TOKEN"), "{}", ran.stderr);
}

#[test]
fn what_is_given_out_only_to_some_says_how_to_get_it() {
    for (status, code, env, wants) in [
        (
            "401 Unauthorized",
            "RepoNotFound",
            None,
            ["has no model org/tiny-GGUF, or it is private", "set HF_TOKEN"],
        ),
        ("401 Unauthorized", "GatedRepo", None, ["only to those who accept its terms", "set HF_TOKEN"]),
        (
            "403 Forbidden",
            "GatedRepo",
            Some(("HF_TOKEN", "another_secret")),
            ["and the account of this token has not", "/org/tiny-GGUF"],
        ),
        ("404 Not Found", "RevisionNotFound", None, ["no such revision", "/tree/main"]),
        ("404 Not Found", "", None, ["has no org/tiny-GGUF", "check the id"]),
    ] {
        let hub = private(status, code);
        let ran = pull(&hub, &env.into_iter().collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(wants.iter().all(|want| ran.stderr.contains(want)), "{status} {code}: {}", ran.stderr);
        assert_eq!(hub.api.asked().len(), 1, "it is asked once");
    }
}

#[test]
fn case_i15_an_untrusted_hub_is_named_and_nothing_is_sent() {
    let hub = Hub::new(&[model()]);
    let other = Hub::new(&[]);
    let stranger = other.temp.path().join("ca.pem");
    let ran = pull(&hub, &[("SSL_CERT_FILE", stranger.to_str().expect("text")), ("HF_TOKEN", TOKEN)]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("certificate not trusted") && ran.stderr.contains("localhost"),
        "{}",
        ran.stderr
    );
    assert_eq!(hub.requests(), 0);
}
