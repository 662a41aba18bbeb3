//! Host, Origin and key.

use superfluid_core::access::{Access, Host, Knock, Origin, allowed_headers, parse_key};

fn code(access: &Access, knock: Knock<'_>) -> Result<Option<String>, String> {
    let allowed = access.allow_origin(knock.origin).map(Into::into);
    access.judge(&knock).map(|()| allowed).map_err(|refusal| refusal.code)
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

#[test]
fn case_t06_a_proxy_s_own_host_is_let_in_where_it_is_named() {
    let named = ["chat.example", "192.168.0.7", "[fd00::7]"].map(|name| Host::parse(name).unwrap());
    let access = Access { loopback: true, hosts: named.into(), ..Access::default() };
    for good in
        ["chat.example", "Chat.Example:8443", "192.168.0.7:80", "[fd00::7]:1", "localhost", "127.0.0.1:1"]
    {
        assert_eq!(code(&access, host(good)), Ok(None), "{good}");
    }
    for bad in
        ["evil.example", "chat.example.evil.example", "a.chat.example", "chat.example:x", "chat.example.", ""]
    {
        assert_eq!(code(&access, host(bad)), Err("forbidden".into()), "{bad}");
    }
    let absolute = Knock { authority: Some("evil.example"), ..host("chat.example") };
    assert_eq!(code(&access, absolute), Err("forbidden".into()));
    // A page that it served itself is its own.
    let page = Knock { origin: Some("https://chat.example"), ..host("chat.example") };
    assert_eq!(code(&access, page), Ok(None));
    // By default it is none, and the refusal says what would let it in.
    let refusal = Access { loopback: true, ..Access::default() }.judge(&host("chat.example")).unwrap_err();
    assert!(refusal.hints.iter().any(|hint| hint.contains("--allow-host <name>")), "{refusal:?}");
}

#[test]
fn a_host_is_a_name_and_nothing_else() {
    for (text, name) in
        [("Chat.Example", "chat.example"), ("[::1]", "::1"), ("FD00:0::7", "fd00::7"), ("box_1", "box_1")]
    {
        assert_eq!(Host::parse(text).unwrap().as_str(), name);
    }
    let long = "a".repeat(254);
    for bad in [
        "",
        "*",
        "*.example",
        "https://chat.example",
        "chat.example:80",
        "a/b",
        "a b",
        "u@a",
        "é",
        "[a]",
        &long,
    ] {
        let refusal = Host::parse(bad).unwrap_err();
        assert_eq!((&*refusal.code, refusal.hints.len()), ("bad_allow_host", 1), "{bad}");
    }
}

#[test]
fn case_t03_a_page_may_send_the_headers_it_asks_for() {
    // The official JavaScript client's.
    let asked =
        "authorization,content-type,x-stainless-arch,x-stainless-retry-count,x-stainless-runtime-version";
    assert_eq!(allowed_headers(Some(asked)), asked);
    assert_eq!(allowed_headers(Some(" X-A ,\tx-b")), "X-A ,\tx-b");
    let long = ["x-a"; 2000].join(",");
    for none in
        [None, Some(""), Some("x-a,"), Some("x a"), Some("x-a\r\nx: y"), Some("é"), Some("x:y"), Some(&*long)]
    {
        assert!(allowed_headers(none).contains("authorization, content-type"), "{none:?}");
    }
}

#[test]
fn an_allowed_page_can_read_why_it_was_refused() {
    let origins = vec![Origin::parse("https://chat.example").unwrap()];
    let access = Access { loopback: true, api_key: Some("s3cret".into()), origins, ..Access::default() };
    let knock = Knock { origin: Some("https://chat.example"), ..host("localhost") };
    assert_eq!(code(&access, knock), Err("invalid_api_key".into()));
    assert_eq!(access.allow_origin(knock.origin), Some("https://chat.example"));
    for other in [None, Some("https://evil.example"), Some("null"), Some("http://localhost")] {
        assert_eq!(access.allow_origin(other), None, "{other:?}");
    }
}
