//! Tests of the shipped command.

mod runtimes;
