//! Tests of superfluid-core through its public API.

mod access;
mod api;
mod capability;
mod placing;
mod sched;
mod supervise;
mod text;
mod wire;
