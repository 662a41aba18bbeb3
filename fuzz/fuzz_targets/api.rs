//! Any bytes as a request: a request within its bounds, or an error that is the client's.
#![no_main]

use superfluid_core::api::{Bounds, ErrorReply, parse_chat, parse_class, parse_completion};

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let bounds = Bounds { bytes: 1 << 16, values: 1 << 12, ..Bounds::default() };
    for parsed in [parse_chat(body, &bounds, &["m"]), parse_completion(body, &bounds, &["m"])] {
        match parsed {
            Ok(request) => {
                assert_eq!(request.model, "m");
                assert!(request.stop.len() <= 4 && request.stop.iter().all(|stop| !stop.is_empty()));
                assert!(request.sampling.top_p > 0.0 && request.sampling.repeat_penalty > 0.0);
                assert!(request.max_tokens != Some(0));
            }
            Err(refusal) => {
                let reply = ErrorReply::new(&refusal);
                assert!((400..500).contains(&reply.status), "{refusal:?}");
                assert!(!reply.body().is_empty());
            }
        }
    }
    let _ = parse_class(Some(body));
});
