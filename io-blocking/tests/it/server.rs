//! An https server on loopback with a certificate of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Variables that could lead a client around a server on loopback.
pub(crate) const PROXIES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// What a request asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) path: String,
    /// The `Range` header.
    pub(crate) range: Option<String>,
    /// The `If-Range` header.
    pub(crate) if_range: Option<String>,
    /// The `Authorization` header.
    pub(crate) authorization: Option<String>,
}

/// Answers for as long as the test runs, one connection after the other.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) certificate: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// The same answer to every request.
    pub(crate) fn new(answer: Vec<u8>) -> Self {
        Self::with(move |_, _| answer.clone())
    }

    /// An answer by what is asked and how many requests came before.
    pub(crate) fn with(answer: impl Fn(&Asked, usize) -> Vec<u8> + Send + 'static) -> Self {
        Self::on("localhost", move |asked, before| (answer(asked, before), false))
    }

    /// The same for a host by this name; with `true` the connection is then held until the client
    /// ends it.
    pub(crate) fn on(host: &str, answer: impl Fn(&Asked, usize) -> (Vec<u8>, bool) + Send + 'static) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![host.into()]).expect("a certificate");
        let key =
            rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a pair");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that does not trust us ends the connection; that is its test.
                let _ = serve(stream, &config, &list, &answer);
            }
        });
        Self { port, certificate: made.cert.pem(), asked }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no request panicked").clone()
    }
}

/// What is answered, and whether the connection is then held.
type Answers = dyn Fn(&Asked, usize) -> (Vec<u8>, bool);

fn serve(
    stream: TcpStream,
    config: &Arc<rustls::ServerConfig>,
    list: &Mutex<Vec<Asked>>,
    answer: &Answers,
) -> std::io::Result<()> {
    let connection = rustls::ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
    let mut tls = BufReader::new(rustls::StreamOwned::new(connection, stream));
    let mut asked = Asked::default();
    let mut line = String::new();
    while tls.read_line(&mut line)? > 2 {
        let value = |name: &str| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_string())
        };
        asked.range = asked.range.take().or_else(|| value("range"));
        asked.authorization = asked.authorization.take().or_else(|| value("authorization"));
        asked.if_range = asked.if_range.take().or_else(|| value("if-range"));
        if let Some(rest) = line.strip_prefix("GET ") {
            asked.path = rest.split(' ').next().unwrap_or_default().into();
        }
        line.clear();
    }
    let before = {
        let mut list = list.lock().map_err(|_| std::io::Error::other("a request panicked"))?;
        list.push(asked.clone());
        list.len() - 1
    };
    let tls = tls.get_mut();
    let (bytes, held) = answer(&asked, before);
    tls.write_all(&bytes)?;
    if held {
        tls.flush()?;
        // Nothing comes but the end.
        return tls.read(&mut [0]).map(drop);
    }
    tls.conn.send_close_notify();
    tls.flush()
}

/// 200 with `bytes`, of `length` as is claimed.
pub(crate) fn ok(bytes: &[u8], length: usize) -> Vec<u8> {
    answer("200 OK", &format!("Content-Length: {length}\r\n"), bytes)
}

/// Any answer: a status, header lines, a body.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n").as_bytes(), body].concat()
}

/// A status alone.
pub(crate) fn bare(status: &str) -> Vec<u8> {
    answer(status, "Content-Length: 0\r\n", b"")
}
