//! The OpenAI-compatible HTTP API of the served models.
//!
//! [`Server::bind`] takes the port before anything is loaded, so that a port in use is told at once
//! and `/health` can say that the model is loading. Every direction is bounded: header size and
//! time, body size and time, bytes of all bodies together, connections, time a write may stall.
//!
//! A client that closes its side is gone, whether it closed all of the connection or only its
//! sending half: the two look the same until something is written, and a reply nobody reads must
//! not keep a lane.

mod admin;
mod body;
mod conn;
mod entry;
mod exchange;
mod generate;
mod health;
mod metrics;
mod models;
mod reply;
mod route;
mod stall;
mod unread;

pub use conn::Server;

use crate::fleet::Fleet;
use std::sync::Arc;
use std::time::Duration;
use superfluid_core::access::Access;
use superfluid_core::api::Bounds;
use tokio::sync::Semaphore;

/// Bounds and rules of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may come in.
    pub access: Access,
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// From the first byte of a request's head to its last, and between requests.
    pub head_timeout: Duration,
    /// From one piece of a body to the next.
    pub body_timeout: Duration,
    /// From a body's first piece to its last.
    pub body_deadline: Duration,
    /// How long a write may stall before the client counts as gone.
    pub write_timeout: Duration,
    /// Bytes of the bodies of all requests that have not ended.
    pub bodies_max: usize,
    /// What a body may hold.
    pub bounds: Bounds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            access: Access::default(),
            connections: 4096,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            body_deadline: Duration::from_secs(300),
            write_timeout: Duration::from_secs(60),
            bodies_max: 256 << 20,
            bounds: Bounds::default(),
        }
    }
}

/// What requests share.
struct State {
    config: Config,
    fleet: Fleet,
    /// KiB left of [`Config::bodies_max`].
    bodies: Arc<Semaphore>,
}
