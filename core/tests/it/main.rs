//! Tests of superfluid-core through its public API.

mod api;
mod capability;
mod host;
mod install;
mod runtime;
mod sched;
mod supervise;
mod text;
mod wire;
