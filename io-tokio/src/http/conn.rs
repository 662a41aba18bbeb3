//! The listening socket and its connections.

use super::stall::Stall;
use super::unread::Unread;
use super::{Config, Served, State, route};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How long connections may take to flush once the server closes.
const LAST_FLUSH: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const HEAD: usize = 64 << 10;
/// Fields of a request's head.
const FIELDS: usize = 100;

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
        Ok(Self { listener: TcpListener::bind(address).await? })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// As the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `close` turns true, then lets replies that are ready go out, and returns.
    pub async fn run(self, config: Config, served: Served, mut close: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(config.connections));
        let bodies = Arc::new(Semaphore::new((config.bodies_max >> 10).max(1)));
        let state = Arc::new(State { config, served, bodies });
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
    let io = TokioIo::new(Unread::new(Stall::new(socket, state.config.write_timeout)));
    let head_timeout = state.config.head_timeout;
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(route::answer(&state, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD)
        .max_headers(FIELDS)
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

/// Returns when `close` turns true, or nobody can turn it any more.
async fn closed(close: &mut watch::Receiver<bool>) {
    let _ = close.wait_for(|close| *close).await;
}
