//! Headers that decide something.

use superfluid_core::api::{ErrorReply, check_content_type, parse_class};
use superfluid_core::sched::Class;

#[test]
fn the_class_header_names_a_class_or_is_refused() {
    for (header, class) in [
        (None, Class::Agent),
        (Some(&b"interactive"[..]), Class::Interactive),
        (Some(b" agent "), Class::Agent),
        (Some(b"background"), Class::Background),
    ] {
        assert_eq!(parse_class(header), Ok(class));
    }
    for header in [&b""[..], b"urgent", b"Interactive", b"interactive,agent", b"\xff", &[b'x'; 10_000]] {
        let refusal = parse_class(Some(header)).unwrap_err();
        let reply = ErrorReply::new(&refusal);
        assert_eq!((reply.status, reply.param.as_deref()), (400, Some("x-superfluid-qos")));
        assert!(reply.message.len() < 400, "{}", reply.message);
    }
}

#[test]
fn case_p11_a_body_that_says_it_is_not_json_is_refused() {
    for header in [
        None,
        Some(&b"application/json"[..]),
        Some(b"Application/JSON; charset=utf-8"),
        Some(b"application/vnd.api+json"),
    ] {
        assert_eq!(check_content_type(header), Ok(()), "{header:?}");
    }
    for header in [
        &b""[..],
        b"text/plain",
        b"text/plain;charset=UTF-8",
        b"application/x-www-form-urlencoded",
        b"multipart/form-data; boundary=x",
        b"application/jsonp",
        b"text/plain, application/json",
        b"application/",
        b"application/+json",
        b"\xff",
    ] {
        let reply = ErrorReply::new(&check_content_type(Some(header)).unwrap_err());
        assert_eq!((reply.status, reply.param.as_deref()), (400, Some("content-type")), "{header:?}");
    }
}
