//! Requests that are too large, too slow, cut short, or no requests.

use crate::client::{Client, answer, ask, get, post};
use crate::rig::{CHAT, ahead, start_with};
use std::time::Duration;
use superfluid_core::api::{Bounds, HEAD_BYTES};
use superfluid_core::supervise;
use superfluid_io_tokio::http::Config;

fn tight() -> Config {
    Config {
        bounds: Bounds { bytes: 4096, ..Bounds::default() },
        bodies_max: 8192,
        head_timeout: Duration::from_secs(10),
        connections: 4,
        ..Config::default()
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_announced_or_not() {
    let (rig, _fake) = start_with(tight(), Default::default()).await;
    let large = "x".repeat(5000);
    assert_eq!(ask(rig.address, post("/v1/completions", &large)).await.code(), "body_too_large");
    let announced = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    let mut client = Client::open(rig.address).await;
    client.send(announced).await;
    assert_eq!(answer(&client.until("body_too_large").await).status, 413);
    let mut chunked =
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_string();
    for _ in 0..5 {
        chunked.push_str(&format!("400\r\n{}\r\n", "x".repeat(1024)));
    }
    let mut client = Client::open(rig.address).await;
    client.send(chunked).await;
    assert_eq!(answer(&client.until("body_too_large").await).status, 413);
}

#[tokio::test]
async fn a_body_has_one_bound_whether_it_is_announced_or_read() {
    let (rig, _fake) = start_with(Config::default(), Default::default()).await;
    let most = Bounds::default().bytes;
    let head =
        |framing: &str| format!("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n");
    // Not a byte of it is waited for.
    let mut announced = Client::open(rig.address).await;
    announced.send(head(&format!("Content-Length: {}", most + 1))).await;
    let announced = answer(&announced.until("body_too_large").await);
    let mut read = Client::open(rig.address).await;
    read.send(head("Transfer-Encoding: chunked")).await;
    read.send(format!("{:x}\r\n{}", most + 1, " ".repeat(most + 1))).await;
    let read = answer(&read.until("body_too_large").await);
    let message = format!("larger than {most} bytes");
    for answer in [announced, read] {
        assert!(answer.status == 413 && answer.body.contains(&message), "{}", answer.body);
    }
    // As many as may be are read, and found to be no request.
    let mut full = Client::open(rig.address).await;
    full.send(head(&format!("Connection: close\r\nContent-Length: {most}"))).await;
    full.send(" ".repeat(most)).await;
    assert_eq!(answer(&full.read_to_end().await).code(), "invalid_json");
}

#[tokio::test]
async fn a_head_may_have_as_many_bytes_as_is_said_and_not_one_more() {
    let (rig, _fake) = start_with(Config::default(), Default::default()).await;
    let head = |bytes: usize| {
        let rest = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: \r\n\r\n".len();
        let fill = "y".repeat(bytes - rest);
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {fill}\r\n\r\n")
    };
    assert_eq!(ask(rig.address, head(HEAD_BYTES)).await.status, 200);
    for bytes in [HEAD_BYTES + 1, 100 << 10] {
        let answer = ask(rig.address, head(bytes)).await;
        assert_eq!((answer.status, answer.code().as_str()), (431, "headers_too_large"), "{bytes}");
        assert!(answer.body.contains("65536 bytes"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused_by_its_encoding_and_identity_is_none() {
    let (rig, mut fake) = start_with(Config::default(), Default::default()).await;
    let with = |encoding: &str| {
        let header = format!("\r\nContent-Encoding: {encoding}\r\n");
        post("/v1/chat/completions", CHAT).replacen("\r\n", &header, 1)
    };
    for encoding in ["gzip", "br", "identity, zstd"] {
        let answer = ask(rig.address, with(encoding)).await;
        assert_eq!((answer.status, answer.code().as_str()), (415, "unsupported_encoding"), "{encoding}");
        assert!(answer.head.contains("accept-encoding: identity\r\n"), "{}", answer.head);
    }
    let asked = tokio::spawn(ask(rig.address, with("identity")));
    let job = fake.job().await;
    fake.finish(job.id);
    assert_eq!(asked.await.unwrap().status, 200);
}

#[tokio::test]
async fn case_p11_a_body_one_byte_short_is_told() {
    let (rig, _fake) = start_with(tight(), Default::default()).await;
    let whole = post("/v1/chat/completions", CHAT);
    let mut client = Client::open(rig.address).await;
    client.send(&whole[..whole.len() - 1]).await;
    let answer = answer(&ahead(client.read_to_end()).await);
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
}

#[tokio::test]
async fn case_p11_bodies_that_are_no_request_are_400_in_the_envelope() {
    let (rig, _fake) = start_with(tight(), Default::default()).await;
    let deep = "[".repeat(4000);
    for body in ["", "[]", "{", "nul", "{\"model\":\"tiny\",}", "\u{feff}{}", deep.as_str()] {
        let answer = ask(rig.address, post("/v1/chat/completions", body)).await;
        assert_eq!(answer.status, 400, "{body:.40}: {}", answer.body);
        assert!(answer.json()["error"]["message"].is_string());
    }
    let mut gbk = post("/v1/chat/completions", "    ").into_bytes();
    let at = gbk.len() - 4;
    gbk[at..].copy_from_slice(&[0xc4, 0xe3, 0xba, 0xc3]);
    assert_eq!(ask(rig.address, gbk).await.status, 400);
    assert_eq!(get(rig.address, "/health").await.status, 200);
}

#[tokio::test]
async fn lines_that_say_nothing_are_closed_and_their_places_used_again() {
    // The clock runs ahead, and the worker that is played here answers no ping.
    let supervise = supervise::Config { ping_every: Duration::from_secs(3600), ..Default::default() };
    let (rig, _fake) = start_with(tight(), supervise).await;
    let mut silent = Vec::new();
    for n in 0..12 {
        let mut client = Client::open(rig.address).await;
        if n % 2 == 0 {
            client.send("GET /health HTTP/1.1\r\nHost: loc").await;
        }
        silent.push(client);
    }
    assert_eq!(ahead(get(rig.address, "/health")).await.status, 200);
    for client in &mut silent {
        ahead(client.read_to_end()).await;
    }
}

#[tokio::test]
async fn heads_without_end_and_lines_that_are_no_http_are_closed() {
    let (rig, _fake) = start_with(tight(), Default::default()).await;
    let endless = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}", "y".repeat(200_000));
    let many = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "a: b\r\n".repeat(2000));
    for junk in [endless.as_str(), many.as_str(), "\u{16}\u{3}\u{1}\0\0", "GET\r\n\r\n"] {
        let mut client = Client::open(rig.address).await;
        // The server may close while this is still being written.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut client.socket, junk.as_bytes()).await;
        let text = ahead(client.read_to_end()).await;
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    assert_eq!(get(rig.address, "/health").await.status, 200);
}

#[tokio::test]
async fn what_is_no_request_gets_the_api_s_error_and_an_end() {
    let (rig, _fake) = start_with(Config::default(), Default::default()).await;
    let fields = "X: 1\r\n".repeat(200);
    for (sent, status, code) in [
        ("\x16\x03\x01 hello\r\n\r\n".to_owned(), 400, "invalid_http"),
        ("GET /health\r\n\r\n".into(), 400, "invalid_http"),
        ("GET /health HTTP/1.1\r\nContent-Length: x\r\n\r\n".into(), 400, "invalid_http"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000)), 431, "headers_too_large"),
        (format!("GET / HTTP/1.1\r\n{fields}\r\n"), 431, "headers_too_large"),
    ] {
        let answer = ask(rig.address, &sent).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{sent:.40}");
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    }
    // After a good request on the same line, too.
    let mut client = Client::open(rig.address).await;
    client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    client.until("restarts").await;
    client.send("nonsense\r\n\r\n").await;
    assert!(client.read_to_end().await.contains("invalid_http"));
}

#[tokio::test]
async fn a_body_that_trickles_in_is_ended_by_its_deadline() {
    let config = Config { body_deadline: Duration::from_secs(50), ..Config::default() };
    let until = config.body_deadline;
    let (rig, _fake) = start_with(config, Default::default()).await;
    let mut client = Client::open(rig.address).await;
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n").await;
    let (mut read, mut write) = client.socket.split();
    let trickled = async {
        // Each piece comes before the line counts as dead.
        let began = tokio::time::Instant::now();
        while tokio::io::AsyncWriteExt::write_all(&mut write, b" ").await.is_ok() {
            assert!(began.elapsed() <= 2 * until, "the body may trickle for ever");
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut text = String::new();
    ahead(async {
        tokio::select! {
            () = trickled => {}
            ended = tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text) => drop(ended),
        }
    })
    .await;
    assert!(text.starts_with("HTTP/1.1 408") && text.contains("request_timeout"), "{text}");
}
