//! Tests of the shipped command.

mod runtimes;
mod serve;
