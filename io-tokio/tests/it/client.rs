//! A raw HTTP client: bytes out, bytes in.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    pub(crate) got: Vec<u8>,
}

/// A whole reply.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().into()
    }
}

impl Client {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { socket: TcpStream::connect(address).await.unwrap(), got: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads until `needle` was seen, and returns all so far.
    pub(crate) async fn until(&mut self, needle: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.got).into_owned();
            if text.contains(needle) {
                return text;
            }
            assert!(self.read().await, "the line was closed before {needle:?}: {text}");
        }
    }

    /// Reads to the end of the line.
    pub(crate) async fn read_to_end(&mut self) -> String {
        while self.read().await {}
        String::from_utf8_lossy(&self.got).into_owned()
    }

    async fn read(&mut self) -> bool {
        let n = self.socket.read_buf(&mut self.got).await.unwrap_or(0);
        n > 0
    }
}

pub(crate) fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// One request on a line of its own, to its end.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let mut client = Client::open(address).await;
    client.send(request).await;
    answer(&client.read_to_end().await)
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).await
}

pub(crate) fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.into() }
}
