//! Who may come in, over the wire.

use crate::client::{ask, get, post};
use crate::rig::{CHAT, start, start_with};
use superfluid_core::access::{Access, Origin};
use superfluid_io_tokio::http::Config;

fn guarded(api_key: Option<&str>) -> Config {
    let origins = vec![Origin::parse("http://localhost:3000").unwrap()];
    Config {
        access: Access { loopback: true, api_key: api_key.map(Into::into), origins, ..Access::default() },
        ..Config::default()
    }
}

#[tokio::test]
async fn case_x05_foreign_hosts_are_refused() {
    let (rig, _fake) = start_with(guarded(None), Default::default()).await;
    let with = |host: &str| format!("GET /v1/models HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    for good in ["Host: localhost\r\n", "Host: 127.0.0.1:8453\r\n", "Host: [::1]:8453\r\n"] {
        assert_eq!(ask(rig.address, with(good)).await.status, 200, "{good}");
    }
    let bad = [
        "Host: evil.example:8642\r\n",
        "",
        "Host: localhost.evil.example\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
    ];
    for bad in bad {
        let answer = ask(rig.address, with(bad)).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{bad}");
    }
    let absolute =
        "GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(ask(rig.address, absolute).await.status, 403);
}

#[tokio::test]
async fn case_x04_foreign_origins_are_refused_and_own_ones_are_named() {
    let (rig, _fake) = start_with(guarded(None), Default::default()).await;
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "http://localhost:3001"] {
        for method in ["OPTIONS", "POST"] {
            let request = format!(
                "{method} /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
                 Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{CHAT}",
                CHAT.len()
            );
            let answer = ask(rig.address, request).await;
            assert_eq!(answer.status, 403, "{method} {origin}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
        }
    }
    let preflight = "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\
                     Origin: http://localhost:3000\r\nConnection: close\r\n\r\n";
    let answer = ask(rig.address, preflight).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.head.matches("access-control-allow-origin").count(), 1);
    assert!(answer.head.contains("access-control-allow-origin: http://localhost:3000"));
    assert!(!answer.head.contains("credentials"));
}

#[tokio::test]
async fn case_t03_the_usual_client_of_an_allowed_page_is_let_through() {
    let (rig, _fake) = start_with(guarded(Some("s3cret")), Default::default()).await;
    let page = "Host: localhost\r\nOrigin: http://localhost:3000\r\nConnection: close\r\n";
    let asked = "authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-retry-count";
    let preflight = format!(
        "OPTIONS /v1/chat/completions HTTP/1.1\r\n{page}Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: {asked}\r\n\r\n"
    );
    let answer = ask(rig.address, preflight).await;
    assert_eq!(answer.status, 204);
    assert!(answer.head.contains(&format!("access-control-allow-headers: {asked}\r\n")), "{}", answer.head);
    for vary in ["vary: origin\r\n", "vary: access-control-request-headers\r\n"] {
        assert!(answer.head.contains(vary), "{}", answer.head);
    }
    // Whatever is wrong, the page can read what.
    for (line, key, status) in [
        ("GET /v1/models", "", 401),
        ("GET /v1/models", "Bearer wrong", 401),
        ("GET /nowhere", "Bearer s3cret", 404),
        ("DELETE /v1/models", "Bearer s3cret", 405),
        ("POST /v1/chat/completions", "Bearer s3cret", 400),
    ] {
        let request = format!("{line} HTTP/1.1\r\n{page}Authorization: {key}\r\nContent-Length: 0\r\n\r\n");
        let answer = ask(rig.address, request).await;
        assert_eq!(answer.status, status, "{line}");
        let named = "access-control-allow-origin: http://localhost:3000\r\n";
        assert_eq!(answer.head.matches(named).count(), 1, "{}", answer.head);
        assert!(answer.head.contains("vary: origin\r\n"), "{}", answer.head);
    }
}

#[tokio::test]
async fn a_key_is_asked_for_and_health_is_open() {
    let (rig, _fake) = start_with(guarded(Some("s3cret")), Default::default()).await;
    let with =
        |line: &str| format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{line}Connection: close\r\n\r\n");
    assert_eq!(ask(rig.address, with("Authorization: Bearer s3cret\r\n")).await.status, 200);
    for bad in ["", "Authorization: Bearer wrong\r\n", "Authorization: s3cret\r\n"] {
        let answer = ask(rig.address, with(bad)).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "invalid_api_key"), "{bad}");
        assert!(answer.head.contains("www-authenticate: bearer"));
    }
    assert_eq!(get(rig.address, "/health").await.status, 200);
    assert_eq!(ask(rig.address, post("/v1/chat/completions", CHAT)).await.status, 401);
}

#[tokio::test]
async fn unknown_paths_and_methods_answer_in_the_envelope() {
    let (rig, _fake) = start().await;
    for path in ["/", "/v1", "/v1/models/", "/health/x", "/v1/chat/completions/"] {
        let answer = get(rig.address, path).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}");
        assert!(answer.body.contains("POST /v1/models/unload") && answer.body.contains("/ready"), "{path}");
    }
    assert_eq!(get(rig.address, "/v1/models/%zz").await.code(), "invalid_value");
    for (method, path, allow) in [
        ("GET", "/v1/chat/completions", "post"),
        ("DELETE", "/v1/models", "get, head"),
        ("POST", "/health", "get, head"),
        ("BREW", "/v1/completions", "post"),
    ] {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = ask(rig.address, request).await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "method_not_allowed"), "{method} {path}");
        assert!(answer.head.contains(&format!("allow: {allow}")), "{}", answer.head);
    }
}

#[tokio::test]
async fn row_g3_what_no_runtime_serves_is_refused_by_the_model_s_record() {
    let (rig, _fake) = start().await;
    for path in ["/v1/embeddings", "/v1/audio/transcriptions", "/v1/audio/translations"] {
        let answer = ask(rig.address, post(path, "{}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "unsupported_model"), "{path}");
    }
}
