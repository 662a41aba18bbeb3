//! Which request is for whom.

use superfluid_core::api::{Endpoint, ErrorReply, Route};
use superfluid_core::capability::Workload;

/// Every path there is, and a method it takes.
fn all() -> [(&'static str, &'static str, Route); 13] {
    [
        ("POST", "/v1/chat/completions", Route::Generate(Endpoint::Chat)),
        ("POST", "/v1/completions", Route::Generate(Endpoint::Completion)),
        ("GET", "/v1/models", Route::Models),
        ("HEAD", "/v1/models", Route::Models),
        ("POST", "/v1/models/load", Route::Load),
        ("POST", "/v1/models/unload", Route::Unload),
        ("GET", "/v1/models/load", Route::Model("load".into())),
        ("GET", "/health", Route::Health),
        ("GET", "/ready", Route::Ready),
        ("GET", "/metrics", Route::Metrics),
        ("POST", "/v1/embeddings", Route::Unserved(Workload::Embeddings)),
        ("POST", "/v1/audio/transcriptions", Route::Unserved(Workload::Transcription)),
        ("POST", "/v1/audio/translations", Route::Unserved(Workload::Translation)),
    ]
}

#[test]
fn every_path_leads_somewhere() {
    for (method, path, route) in all() {
        assert_eq!(Route::find(method, path), Ok(route), "{method} {path}");
    }
}

#[test]
fn case_t04_ids_are_percent_decoded() {
    for (path, id) in [
        ("Smol%20LM%20%C3%A9", "Smol LM é"),
        ("org/model:Q4_K_M", "org/model:Q4_K_M"),
        ("org%2Fmodel%3aQ4_K_M", "org/model:Q4_K_M"),
        ("100%25", "100%"),
        ("a+b", "a+b"),
        ("%2525", "%25"),
        ("a//b/", "a//b/"),
        ("%E2%82%AC", "€"),
    ] {
        let found = Route::find("GET", &format!("/v1/models/{path}"));
        assert_eq!(found, Ok(Route::Model(id.into())), "{path}");
    }
    assert_eq!(Route::find("GET", "/v1/%6dodels"), Ok(Route::Models));
    // A slash that is escaped parts no segments.
    assert!(Route::find("GET", "/v1%2Fmodels").is_err());
}

#[test]
fn case_t04_an_escape_that_is_none_is_a_400() {
    for path in
        ["/v1/models/100%", "/v1/models/%2", "/v1/models/%zz", "/v1/models/%é", "/v1/models/%ff", "/%"]
    {
        for method in ["GET", "POST"] {
            let unrouted = Route::find(method, path).unwrap_err();
            let reply = ErrorReply::new(&unrouted.refusal);
            assert_eq!((reply.status, reply.code.as_str()), (400, "invalid_value"), "{path}");
            assert!(reply.message.contains("%25"), "{}", reply.message);
        }
    }
}

#[test]
fn a_path_that_is_not_here_names_every_path_that_is() {
    for path in ["/", "", "/v1", "/v1/models/", "/health/", "/health/x", "/v1/chat", "/V1/models", "//health"]
    {
        let unrouted = Route::find("GET", path).unwrap_err();
        let reply = ErrorReply::new(&unrouted.refusal);
        assert_eq!((reply.status, unrouted.allow), (404, None), "{path}");
        for (_, known, _) in all() {
            assert!(reply.message.contains(known), "{known} is not in {}", reply.message);
        }
        assert!(reply.message.contains("/v1/models/{id}"), "{}", reply.message);
    }
    let long = ErrorReply::new(&Route::find("GET", &"/x".repeat(10_000)).unwrap_err().refusal);
    assert!(long.body().len() < 1500, "{}", long.message);
}

#[test]
fn a_known_path_tells_what_it_takes() {
    for (method, path, allow) in [
        ("GET", "/v1/chat/completions", "POST"),
        ("DELETE", "/v1/models", "GET, HEAD"),
        ("DELETE", "/v1/models/load", "POST, GET, HEAD"),
        ("POST", "/v1/models/tiny", "GET, HEAD"),
        ("POST", "/ready", "GET, HEAD"),
        ("get", "/health", "GET, HEAD"),
        ("BREW", "/v1/completions", "POST"),
    ] {
        let unrouted = Route::find(method, path).unwrap_err();
        let reply = ErrorReply::new(&unrouted.refusal);
        assert_eq!((reply.status, unrouted.allow.as_deref()), (405, Some(allow)), "{method} {path}");
        assert_eq!(reply.message, format!("{path} does not take {method} (it takes {allow})"));
    }
}
