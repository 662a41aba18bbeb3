//! HTTP/1.1 over a plain socket, for tests that care about bytes: half-closed connections, wrong
//! lengths, foreign hosts, and event streams exactly as they were sent.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Error, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a read may take before a test is failed.
const PATIENCE: Duration = Duration::from_secs(180);

/// An answer, whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// With chunks undone.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of a name given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// Where it is none, showing it.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e} in the body of a {}: {}", self.status, self.text()))
    }
}

/// One request and its whole answer.
pub fn get(to: SocketAddr, path: &str) -> io::Result<Response> {
    let mut connection = Connection::open(to)?;
    connection.request("GET", path, &[], b"")?;
    connection.response()
}

/// Posts JSON and reads the whole answer.
pub fn post(to: SocketAddr, path: &str, body: &Value) -> io::Result<Response> {
    let mut connection = Connection::open(to)?;
    connection.request("POST", path, &[], body.to_string().as_bytes())?;
    connection.response()
}

/// Posts JSON and hands out the answer's events as they come; an answer other than 200 is an error.
pub fn post_stream(to: SocketAddr, path: &str, body: &Value) -> io::Result<Events> {
    let mut connection = Connection::open(to)?;
    connection.request("POST", path, &[], body.to_string().as_bytes())?;
    connection.events()
}

/// A connection to a server.
pub struct Connection {
    to: SocketAddr,
    socket: BufReader<TcpStream>,
    body: Body,
}

/// What is left of the body being read.
#[derive(Clone, Copy)]
enum Body {
    Length(u64),
    Chunked,
    UntilClose,
    Done,
}

impl Connection {
    /// Connects.
    pub fn open(to: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(to)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        Ok(Self { to, socket: BufReader::new(socket), body: Body::Done })
    }

    /// Sends a well-formed request that asks to close afterwards; `headers` come after the usual ones.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.to);
        if method != "GET" {
            head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.send(&[head.as_bytes(), b"\r\n", body].concat())
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.get_mut().write_all(bytes)
    }

    /// Says that nothing more will be sent; the answer can still be read.
    pub fn half_close(&self) -> io::Result<()> {
        self.socket.get_ref().shutdown(Shutdown::Write)
    }

    /// Reads a whole answer.
    pub fn response(&mut self) -> io::Result<Response> {
        let mut response = self.head()?;
        while let Some(piece) = self.piece()? {
            response.body.extend(piece);
        }
        Ok(response)
    }

    /// Reads an answer's head; its body is empty and follows by [`Self::piece`].
    pub fn head(&mut self) -> io::Result<Response> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| Error::other(format!("{line:?} is no status line")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) =
                line.split_once(':').ok_or_else(|| Error::other(format!("{line:?} is no header")))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let response = Response { status, headers, body: Vec::new() };
        let chunked = response.header("transfer-encoding").is_some_and(|v| v.contains("chunked"));
        self.body = match response.header("content-length") {
            _ if chunked => Body::Chunked,
            Some(length) => Body::Length(length.parse().map_err(Error::other)?),
            None => Body::UntilClose,
        };
        Ok(response)
    }

    /// The body's next piece as it arrived: a chunk, or what one read brought.
    pub fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let most = match self.body {
            Body::Done | Body::Length(0) => return Ok(None),
            Body::Chunked => return self.chunk(),
            Body::Length(left) => usize::try_from(left).unwrap_or(usize::MAX),
            Body::UntilClose => usize::MAX,
        };
        let mut piece = vec![0; most.min(1 << 16)];
        let n = self.socket.read(&mut piece)?;
        piece.truncate(n);
        match &mut self.body {
            Body::Length(_) if n == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Body::Length(left) => {
                *left -= n as u64;
                Ok(Some(piece))
            }
            _ if n == 0 => Ok(None),
            _ => Ok(Some(piece)),
        }
    }

    /// Reads a head that must be a 200, then hands out the events of the body.
    pub fn events(mut self) -> io::Result<Events> {
        let mut head = self.head()?;
        if head.status == 200 {
            return Ok(Events { connection: self, head, raw: Vec::new(), taken: 0 });
        }
        while let Some(piece) = self.piece()? {
            head.body.extend(piece);
        }
        Err(Error::other(format!("answered {}: {}", head.status, head.text())))
    }

    fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line()?;
        let size = u64::from_str_radix(line.split(';').next().unwrap_or(""), 16);
        let size = size.map_err(|_| Error::other(format!("{line:?} is no chunk size")))?;
        let mut chunk = Vec::new();
        (&mut self.socket).take(size).read_to_end(&mut chunk)?;
        if chunk.len() as u64 != size || !self.line()?.is_empty() {
            return Err(Error::other("the connection ended inside a chunk"));
        }
        if size > 0 {
            return Ok(Some(chunk));
        }
        self.body = Body::Done;
        Ok(None)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.socket.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None => Err(Error::new(io::ErrorKind::UnexpectedEof, "the connection ended inside a line")),
        }
    }
}

/// A stream of server-sent events, kept as it arrives.
pub struct Events {
    connection: Connection,
    head: Response,
    raw: Vec<u8>,
    taken: usize,
}

impl Events {
    /// The answer's head; its body stays empty.
    pub fn head(&self) -> &Response {
        &self.head
    }

    /// Every byte of the body so far.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The next event's data, comments left out; `None` when the stream ends.
    pub fn next_data(&mut self) -> io::Result<Option<String>> {
        loop {
            let rest = &self.raw[self.taken..];
            if let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
                let event = String::from_utf8_lossy(&rest[..end]).into_owned();
                self.taken += end + 2;
                let data: Vec<&str> = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(|data| data.strip_prefix(' ').unwrap_or(data))
                    .collect();
                if !data.is_empty() {
                    return Ok(Some(data.join("\n")));
                }
            } else if let Some(piece) = self.connection.piece()? {
                self.raw.extend(piece);
            } else if rest.is_empty() {
                return Ok(None);
            } else {
                return Err(Error::other("the stream ended inside an event"));
            }
        }
    }

    /// The next event as JSON; `None` at `[DONE]`, which must be the last.
    pub fn next_json(&mut self) -> io::Result<Option<Value>> {
        match self.next_data()? {
            Some(data) if data == "[DONE]" => match self.next_data()? {
                None => Ok(None),
                Some(more) => Err(Error::other(format!("after [DONE] came {more}"))),
            },
            Some(data) => serde_json::from_str(&data).map(Some).map_err(Error::other),
            None => Err(Error::other("the stream ended without [DONE]")),
        }
    }

    /// All events to `[DONE]`.
    pub fn collect(mut self) -> io::Result<Vec<Value>> {
        let mut all = Vec::new();
        while let Some(event) = self.next_json()? {
            all.push(event);
        }
        Ok(all)
    }
}
