//! Tests of superfluid-core through its public API.

mod access;
mod api;
mod cache;
mod capability;
mod corpus;
mod fleet;
mod host;
mod install;
mod laws;
mod park;
mod placing;
mod pull;
mod runtime;
mod sched;
mod supervise;
mod text;
mod time;
mod wire;
