//! Headers that decide something.

use superfluid_core::api::{
    ErrorReply, check_content_encoding, check_content_type, parse_class, parse_deadline, request_id,
    wants_openmetrics,
};
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

#[test]
fn deadlines_are_whole_milliseconds_up_to_a_day() {
    let ms = |header: &'static [u8]| parse_deadline(Some(header)).map(|d| d.map(|d| d.as_millis()));
    assert_eq!(parse_deadline(None), Ok(None));
    assert_eq!((ms(b" 250 "), ms(b"1"), ms(b"86400000")), (Ok(Some(250)), Ok(Some(1)), Ok(Some(86_400_000))));
    for bad in [&b"0"[..], b"", b"86400001", b"+1", b"1e3", b"1 2", b"\xff", b"000000001"] {
        let refusal = parse_deadline(Some(bad)).unwrap_err();
        assert_eq!(refusal.code, "invalid_header", "{bad:?}");
    }
}

#[test]
fn request_ids_are_short_and_plain() {
    let longest = "x".repeat(128);
    for good in ["a", "req-1_2.3:4", longest.as_str()] {
        assert_eq!(request_id(Some(good.as_bytes())), Some(good));
    }
    let long = "x".repeat(129);
    for bad in ["", "a b", "a\r\nb", "é", "{}", long.as_str()] {
        assert_eq!(request_id(Some(bad.as_bytes())), None, "{bad:?}");
    }
    assert_eq!(request_id(None), None);
}

#[test]
fn openmetrics_is_for_who_asks_for_it() {
    // Prometheus 2 and 3, and vmagent.
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;\
                      version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for (accept, wants) in [
        (&[prometheus][..], true),
        (&["Application/OpenMetrics-Text"], true),
        (&["text/html", "application/openmetrics-text"], true),
        (&["text/plain;version=0.0.4;q=0.5, application/openmetrics-text;q=0.75"], true),
        (&["text/plain;version=0.0.4"], false),
        (&["text/plain;version=0.0.4;q=1,*/*;q=0.1"], false),
        (&["application/openmetrics-text;q=0.1,text/plain"], false),
        (&["application/openmetrics-text;q=0"], false),
        (&["application/openmetrics-text;q=much"], false),
        (&["*/*"], false),
        (&["", ";q=", "\u{e9}"], false),
        (&[], false),
    ] {
        assert_eq!(wants_openmetrics(accept.iter().map(|text| text.as_bytes())), wants, "{accept:?}");
    }
}

#[test]
fn a_compressed_body_is_told_by_its_encoding() {
    for plain in [&[][..], &["identity"], &[" Identity , identity"], &[""]] {
        assert_eq!(check_content_encoding(plain.iter().map(|text| text.as_bytes())), Ok(()), "{plain:?}");
    }
    for (header, named) in
        [(&["gzip"][..], "'gzip'"), (&["identity, br"], "'br'"), (&["identity", "zstd"], "'zstd'")]
    {
        let refused = check_content_encoding(header.iter().map(|text| text.as_bytes())).unwrap_err();
        let reply = ErrorReply::new(&refused);
        assert_eq!((reply.status, reply.param.as_deref()), (415, Some("content-encoding")), "{header:?}");
        assert!(reply.message.contains(named) && reply.message.contains("identity"), "{}", reply.message);
    }
    let long = ErrorReply::new(&check_content_encoding([&[0xff_u8; 9000][..]]).unwrap_err());
    assert!(long.message.len() < 500);
}
