//! Tests of superfluid-core through its public API.

mod api;
mod capability;
mod text;
mod wire;

mod supervise;
