//! Tests of superfluid-core through its public API.

mod wire;
