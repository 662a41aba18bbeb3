//! Host, Origin and key.

use superfluid_core::access::{Access, Knock, Origin, parse_key};

fn code(access: &Access, knock: Knock<'_>) -> Result<Option<String>, String> {
    access.judge(&knock).map(|ok| ok.allow_origin.map(Into::into)).map_err(|refusal| refusal.code)
}

fn host(host: &str) -> Knock<'_> {
    Knock { path: "/v1/models", host: Some(host), ..Knock::default() }
}

#[test]
fn case_x05_only_loopback_names_reach_a_loopback_server() {
    let access = Access { loopback: true, ..Access::default() };
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
    let open = Access::default();
    assert_eq!(code(&open, host("box.lan:8453")), Ok(None));
}

#[test]
fn case_x04_foreign_pages_are_refused_and_at_most_one_origin_is_named() {
    let access = Access { loopback: true, ..Access::default() };
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
    // Nobody reads an answer across origins unless the operator said so; this server's own pages do
    // not ask across any.
    for local in ["http://localhost:3000", "http://127.0.0.1:5173", "https://[::1]:1"] {
        assert_eq!(from(local), Err("forbidden".into()), "{local}");
    }
    assert_eq!(from("http://localhost:8453"), Ok(None));
    let listed = Access {
        origins: ["https://chat.example", "http://localhost:3000"].map(|o| Origin::parse(o).unwrap()).into(),
        ..access
    };
    let from = |origin| code(&listed, Knock { origin: Some(origin), ..host("localhost:8453") });
    for good in ["https://chat.example", "http://localhost:3000"] {
        assert_eq!(from(good), Ok(Some(good.into())));
    }
    for near in ["http://chat.example", "https://chat.example:444", "https://chat.example.evil.example"] {
        assert_eq!(from(near), Err("forbidden".into()), "{near}");
    }
    let open = Access::default();
    let page = |origin| code(&open, Knock { origin: Some(origin), ..host("box.lan:8453") });
    assert_eq!(page("http://box.lan:8453"), Ok(None));
    assert_eq!(page("http://other.lan:8453"), Err("forbidden".into()));
}

#[test]
fn an_origin_is_read_as_browsers_write_it_and_nothing_else_is_one() {
    for (text, header) in [
        ("HTTPS://Chat.Example/", "https://chat.example"),
        ("https://chat.example:443", "https://chat.example"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("vscode-file://vscode-app", "vscode-file://vscode-app"),
    ] {
        assert!(Origin::parse(text).unwrap().is(header), "{text}");
    }
    for bad in [
        "",
        "*",
        "null",
        "chat.example",
        "https://",
        "://x",
        "https://a/b",
        "https://a?b",
        "https://u@a",
        "https://a b",
        "https://a:99999",
        "https://*.example",
    ] {
        let refusal = Origin::parse(bad).unwrap_err();
        assert_eq!((&*refusal.code, refusal.hints.len()), ("bad_cors_origin", 1), "{bad}");
    }
}

#[test]
fn a_key_is_what_a_header_can_carry() {
    assert_eq!(parse_key(" s3cret\n", "it").unwrap(), "s3cret");
    for bad in ["", " \n", "tab\tbed", "caf\u{e9}", "one\ntwo", &"k".repeat(2000)] {
        let refusal = parse_key(bad, "the API key of it").unwrap_err();
        assert_eq!(refusal.code, "bad_api_key");
        assert!(refusal.message.starts_with("the API key of it "));
        assert!(bad.trim().is_empty() || !refusal.message.contains(bad.trim()), "a message tells no key");
    }
}

#[test]
fn the_key_is_asked_for_everywhere_but_at_health() {
    let access = Access { loopback: true, api_key: Some("s3cret".into()), ..Access::default() };
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
