//! A stand-in for a worker that was taken over: what it tries of the system.

use crate::script::Attempt;
use serde_json::Value;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use superfluid_core::capability::Record;

/// Makes every attempt and writes into the record what came of it.
pub(crate) fn all(attempts: &[Attempt], record: Record) -> Record {
    attempts.iter().fold(record, |record, attempt| {
        let (name, result) = make(attempt);
        let result = match result {
            Ok(()) => Value::Bool(true),
            Err(error) => error.to_string().into(),
        };
        record.with("attempts", &name, result)
    })
}

fn make(attempt: &Attempt) -> (String, io::Result<()>) {
    match attempt {
        Attempt::Read(path) => {
            let read =
                if path.is_dir() { std::fs::read_dir(path).map(drop) } else { std::fs::read(path).map(drop) };
            (format!("read {}", path.display()), read)
        }
        Attempt::Write(path) => {
            let wrote = std::fs::write(path, "mock").and_then(|()| std::fs::remove_file(path));
            (format!("write {}", path.display()), wrote)
        }
        Attempt::Connect(to) => (format!("connect {to}"), TcpStream::connect(to).map(drop)),
        Attempt::Listen(at) => (format!("listen {at}"), TcpListener::bind(at).map(drop)),
        Attempt::Send(to) => {
            let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"mock", to));
            (format!("send {to}"), sent.map(drop))
        }
        Attempt::Run(path) => {
            let ran = Command::new(path).output().and_then(|output| match output.status.success() {
                true => Ok(()),
                false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
            });
            (format!("run {}", path.display()), ran)
        }
    }
}
