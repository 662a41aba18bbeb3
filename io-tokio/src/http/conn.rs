//! The listening socket and its connections.

use super::stall::Stall;
use super::unread::Unread;
use super::{Config, State, route};
use crate::fleet::Fleet;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use superfluid_core::api::{HEAD_BYTES, HEAD_FIELDS};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How long connections may take to flush once the server closes.
const LAST_FLUSH: Duration = Duration::from_secs(2);
/// Connections that wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 4096;
/// Descriptors that are not for connections.
const KEPT: usize = 64;

/// A bound port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Takes the port; 0 picks a free one.
    ///
    /// # Errors
    /// As the system says: in use, not permitted, no such address.
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Connections of a daemon that just ended must not keep its port.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Self { listener: socket.listen(BACKLOG)? })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// As the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `close` turns true, then lets replies that are ready go out, and returns.
    pub async fn run(self, config: Config, fleet: Fleet, mut close: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(config.connections.min(descriptors())));
        let bodies = Arc::new(Semaphore::new((config.bodies_max >> 10).max(1)));
        let state = Arc::new(State { config, fleet, bodies });
        let mut connections = JoinSet::new();
        loop {
            let accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
                Some((self.listener.accept().await, permit))
            };
            tokio::select! {
                () = closed(&mut close) => break,
                accepted = accepted => match accepted {
                    Some((Ok((socket, _)), permit)) => {
                        let serving = serve(socket, Arc::clone(&state), close.clone());
                        connections.spawn(async move {
                            serving.await;
                            drop(permit);
                        });
                    }
                    Some((Err(error), _)) => {
                        // Out of descriptors, mostly: let some close.
                        tracing::warn!(%error, "a connection was not accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    None => break,
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(self.listener);
        let flushed = async { while connections.join_next().await.is_some() {} };
        // What has not gone out by then is cut with the process.
        let _ = tokio::time::timeout(LAST_FLUSH, flushed).await;
    }
}

async fn serve(socket: TcpStream, state: Arc<State>, mut close: watch::Receiver<bool>) {
    // Tokens are small writes that must not wait for each other.
    let _ = socket.set_nodelay(true);
    watch_over(&socket);
    let io = TokioIo::new(Unread::new(Stall::new(socket, state.config.write_timeout)));
    let head_timeout = state.config.head_timeout;
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(route::answer(&state, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD_BYTES)
        .max_header_size(HEAD_BYTES)
        .max_headers(HEAD_FIELDS)
        .serve_connection(io, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closed(&mut close) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// How many connections the process has descriptors for, once it may have as many as the system lets
/// it; a few are for everything else.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, ..limit };
    // Some systems refuse what they name as the maximum.
    let may = if setrlimit(Resource::Nofile, most).is_ok() { limit.maximum } else { limit.current };
    let may = may.map_or(usize::MAX, |may| usize::try_from(may).unwrap_or(usize::MAX));
    may.saturating_sub(KEPT).max(1)
}

/// Has the system ask a client that says nothing whether it is still there: one whose machine went
/// away while its answer was computed would keep its place until something is written.
fn watch_over(socket: &TcpStream) {
    let asked = sockopt::set_tcp_keepidle(socket, Duration::from_secs(60))
        .and_then(|()| sockopt::set_tcp_keepintvl(socket, Duration::from_secs(10)))
        .and_then(|()| sockopt::set_tcp_keepcnt(socket, 6))
        .and_then(|()| sockopt::set_socket_keepalive(socket, true));
    if let Err(error) = asked {
        tracing::debug!(%error, "a connection is not watched over");
    }
}

/// Returns when `close` turns true, or nobody can turn it any more.
async fn closed(close: &mut watch::Receiver<bool>) {
    let _ = close.wait_for(|close| *close).await;
}
