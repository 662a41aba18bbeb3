//! Tests of superfluid-io-blocking: real files, real processes, loopback at most.

mod archives;
mod hostile;
mod https;
mod installs;
mod processes;
mod python;
#[cfg(target_os = "linux")]
mod releases;
mod replacing;
mod resume;
mod server;
mod tgz;
mod world;
