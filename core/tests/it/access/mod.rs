//! Host, Origin and key.

use superfluid_core::access::{Access, Knock};

fn code(access: &Access, knock: Knock<'_>) -> Result<Option<String>, String> {
    access.judge(&knock).map(|ok| ok.allow_origin.map(Into::into)).map_err(|refusal| refusal.code)
}

fn host(host: &str) -> Knock<'_> {
    Knock { path: "/v1/models", host: Some(host), ..Knock::default() }
}

#[test]
fn case_x05_only_loopback_names_reach_a_loopback_server() {
    let access = Access { loopback: true, api_key: None };
    for good in
        ["localhost", "LOCALHOST:8453", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8453", "127.1.2.3"]
    {
        assert_eq!(code(&access, host(good)), Ok(None), "{good}");
    }
    let bad = [
        "evil.example:8642",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost:",
        "localhost:x",
        "localhost:+1",
        "localhost:99999",
        "[::1",
        "[::1]x",
        "::1",
        "0.0.0.0",
        "192.168.0.1",
        "localhost@evil.example",
        "evil.example#localhost",
        "127.0.0.1:1:2",
        "localhost.",
    ];
    for bad in bad {
        assert_eq!(code(&access, host(bad)), Err("forbidden".into()), "{bad}");
    }
    let none = Knock { path: "/health", ..Knock::default() };
    assert_eq!(code(&access, none), Err("forbidden".into()), "no Host at all");
    let absolute = Knock { authority: Some("evil.example"), ..host("localhost") };
    assert_eq!(code(&access, absolute), Err("forbidden".into()), "absolute form");
    let refusal = access.judge(&absolute).unwrap_err();
    assert!(refusal.message.contains("\"evil.example\""), "it names the foreign one: {refusal}");
    let open = Access { loopback: false, api_key: None };
    assert_eq!(code(&open, host("box.lan:8453")), Ok(None));
}

#[test]
fn case_x04_foreign_pages_are_refused_and_at_most_one_origin_is_named() {
    let access = Access { loopback: true, api_key: None };
    let from = |origin| code(&access, Knock { origin: Some(origin), ..host("localhost:8453") });
    let foreign = [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "",
        "*",
        "file://",
        "http://",
        "http://localhost:3000, https://evil.example",
        "chrome-extension://x",
        "HTTP://evil.example",
    ];
    for foreign in foreign {
        assert_eq!(from(foreign), Err("forbidden".into()), "{foreign}");
    }
    for own in ["http://localhost:8453", "http://localhost:3000", "http://127.0.0.1:5173", "https://[::1]:1"]
    {
        assert_eq!(from(own), Ok(Some(own.into())));
    }
    let open = Access { loopback: false, api_key: None };
    let page = |origin| code(&open, Knock { origin: Some(origin), ..host("box.lan:8453") });
    assert_eq!(page("http://box.lan:8453"), Ok(Some("http://box.lan:8453".into())));
    assert_eq!(page("http://other.lan:8453"), Err("forbidden".into()));
}

#[test]
fn the_key_is_asked_for_everywhere_but_at_health() {
    let access = Access { loopback: true, api_key: Some("s3cret".into()) };
    let with = |authorization| code(&access, Knock { authorization, ..host("localhost") });
    assert_eq!(with(Some("Bearer s3cret")), Ok(None));
    assert_eq!(with(Some("bearer  s3cret ")), Ok(None));
    for bad in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer s3cre"),
        Some("Bearer s3crets"),
        Some("s3cret"),
        Some("Basic s3cret"),
    ] {
        assert_eq!(with(bad), Err("invalid_api_key".into()), "{bad:?}");
    }
    assert_eq!(code(&access, Knock { path: "/health", ..host("localhost") }), Ok(None));
    assert_eq!(code(&access, Knock { preflight: true, ..host("localhost") }), Ok(None));
}
