//! Tests of the worker kit through its public API.

mod sample;
mod template;
