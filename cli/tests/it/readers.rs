//! Clients that ask and do not read.

use crate::daemon::{Daemon, rest};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

/// A socket that takes little, and asks for a long stream with all there is to say of each token.
fn stalled(daemon: &Daemon) -> Socket {
    let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&SockAddr::from(SocketAddr::from((Ipv4Addr::LOCALHOST, daemon.port)))).unwrap();
    let body = r#"{"model":"tiny","stream":true,"logprobs":true,"top_logprobs":20,"max_tokens":900000,"ignore_eos":true,
        "messages":[{"role":"user","content":"on and on"}]}"#;
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    socket
}

/// They get what fits into buffers and then keep no lane from anybody, and the daemon's memory is
/// bounded.
#[test]
fn clients_that_do_not_read_hold_no_lane_and_no_memory() {
    let daemon = Daemon::start_with(r#"{"mock":1,"context":1000000}"#, &["--max-batch", "2"]);
    let sockets = [stalled(&daemon), stalled(&daemon)];
    while daemon.health()["running"] != 2 {}
    let reply = rest(
        &mut daemon.post(r#"{"model":"tiny","max_tokens":3,"messages":[{"role":"user","content":"quick"}]}"#),
    );
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    while daemon.health()["paused"] != 2 {}
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 150 << 10, "{kib} KiB");
    drop(sockets);
    while daemon.health()["requests"] != 0 {}
}
