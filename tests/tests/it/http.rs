//! The raw client reads what servers send, and refuses what they must not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use superfluid_tests::http;

/// A server that answers one connection with these bytes.
fn answers(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(bytes);
    });
    address
}

#[test]
fn bodies_by_length_by_chunks_and_to_the_end() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
    ] {
        let answer = http::get(answers(bytes), "/").expect("an answer");
        assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
    }
}

#[test]
fn cut_bodies_are_errors() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe",
        b"HTTP/1.1 200 OK\r\nContent-",
        b"nonsense\r\n\r\n",
        b"",
    ] {
        http::get(answers(bytes), "/").expect_err("no whole answer");
    }
}

#[test]
fn events_across_pieces_with_comments_and_one_end() {
    let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        f\r\n: hi\n\ndata: {\"a\r\n8\r\n\":1}\n\nda\r\n9\r\nta: [DONE\r\n3\r\n]\n\n\r\n0\r\n\r\n";
    let events = http::post_stream(answers(whole), "/", &serde_json::json!({})).expect("a stream");
    let events = events.collect().expect("whole");
    assert_eq!(events, [serde_json::json!({"a": 1})]);
    for cut in [
        &b"HTTP/1.1 200 OK\r\n\r\ndata: {}\n\n"[..],
        b"HTTP/1.1 200 OK\r\n\r\ndata: {}\n\ndata: [DO",
        b"HTTP/1.1 200 OK\r\n\r\ndata: [DONE]\n\ndata: {}\n\n",
    ] {
        let events = http::post_stream(answers(cut), "/", &serde_json::json!({})).expect("a stream");
        events.collect().expect_err("not whole");
    }
    let refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}";
    assert!(http::post_stream(answers(refused), "/", &serde_json::json!({})).is_err());
}
