//! Tests of the worker kit through its public API.

mod template;
