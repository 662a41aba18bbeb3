//! `superfluid pull`, and `serve` by id, against a hub on loopback.

#[expect(dead_code, reason = "io-blocking's tests use the rest")]
#[path = "../../../../io-blocking/tests/it/server.rs"]
mod server;

mod access;
mod breaks;
mod cache;
pub(crate) mod hub;
mod serve;
