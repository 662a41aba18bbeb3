//! Tests of superfluid-core through its public API.

mod text;
mod wire;

mod supervise;
