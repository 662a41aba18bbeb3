//! Tests of superfluid-core through its public API.

mod api;
mod capability;
mod sched;
mod text;
mod wire;

mod access;
mod supervise;
