//! Fetches over https from a server on loopback with a certificate of its own.

use crate::processes::{SHA256, command};
use crate::server::{PROXIES, Server, ok};
use crate::tgz::{base, tgz};
use crate::world::World;
use sha2::{Digest, Sha256};
use std::process::Command;

/// Installs from the server; whether it went well, and what was said.
pub(crate) fn install(world: &World, server: &Server, sha256: &str, env: &[(&str, &str)]) -> (bool, String) {
    let mut command = command(&world.dir, &format!("https://localhost:{}/a.tar.gz", server.port));
    trust(&mut command, world, server).env(SHA256, sha256);
    let output = command.envs(env.iter().copied()).output().expect("a child");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        assert!(world.names().is_empty(), "{:?} after {said}", world.names());
    }
    (output.status.success(), said)
}

/// Lets a child process trust the server's certificate, and ask it without a proxy.
pub(crate) fn trust<'a>(command: &'a mut Command, world: &World, server: &Server) -> &'a mut Command {
    let authority = world.put("ca.pem", server.certificate.as_bytes());
    for proxy in PROXIES {
        command.env_remove(proxy);
    }
    command.env("SSL_CERT_FILE", authority).env_remove("SSL_CERT_DIR")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn case_i15_an_authority_of_ones_own_is_trusted_by_name_alone() {
    let bytes = tgz(&[base()]);
    let server = Server::new(ok(&bytes, bytes.len()));
    let world = World::new();
    let (success, said) = install(&world, &server, &hex(&bytes), &[]);
    assert!(success, "{said}");
    assert_eq!(world.names(), ["b1-cpu", "current"]);

    let world = World::new();
    let other = Server::new(Vec::new());
    let stranger = world.put("other.pem", other.certificate.as_bytes());
    let (success, said) = install(&world, &server, &hex(&bytes), &[("SSL_CERT_FILE", &stranger)]);
    assert!(!success && said.contains("certificate not trusted") && said.contains("localhost"), "{said}");
}

#[test]
fn case_i15_a_proxy_that_is_named_is_used() {
    let bytes = tgz(&[base()]);
    let server = Server::new(ok(&bytes, bytes.len()));
    let (success, said) =
        install(&World::new(), &server, &hex(&bytes), &[("HTTPS_PROXY", "http://127.0.0.1:1")]);
    assert!(!success, "it went around its proxy: {said}");
    let around = [("HTTPS_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "localhost")];
    let (success, said) = install(&World::new(), &server, &hex(&bytes), &around);
    assert!(success, "{said}");
}

#[test]
fn case_b10_a_redirect_away_from_https_is_refused() {
    let to = "HTTP/1.1 302 Found\r\nLocation: http://localhost:1/a.tar.gz\r\nContent-Length: 0\r\n\r\n";
    let (success, said) = install(&World::new(), &Server::new(to.into()), &hex(b""), &[]);
    assert!(!success && said.contains("https"), "{said}");
}

#[test]
fn redirects_without_end_are_given_up_and_not_tried_again() {
    let to = "HTTP/1.1 302 Found\r\nLocation: /a.tar.gz\r\nContent-Length: 0\r\n\r\n";
    let server = Server::new(to.into());
    let (success, said) = install(&World::new(), &server, &hex(b""), &[]);
    assert!(!success && said.contains("from one address to the next"), "{said}");
    assert_eq!(server.asked().len(), 6, "{said}");
}

#[test]
fn case_i08_a_missing_file_is_named_with_its_release() {
    let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let (success, said) = install(&World::new(), &Server::new(answer.into()), &hex(b""), &[]);
    assert!(!success && said.contains("404") && said.contains("a.tar.gz of llamacpp b1 (cpu)"), "{said}");
}

#[test]
fn case_i17_a_short_or_changed_body_is_refused() {
    let bytes = tgz(&[base()]);
    let short = Server::new(ok(&bytes[..bytes.len() - 40], bytes.len()));
    let (success, said) = install(&World::new(), &short, &hex(&bytes), &[]);
    assert!(!success, "{said}");
    let unsized_short =
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", &bytes[..bytes.len() - 40]].concat();
    let (success, said) = install(&World::new(), &Server::new(unsized_short), &hex(&bytes), &[]);
    assert!(!success && said.contains("expected"), "{said}");
}
