//! Tests of the shipped command.

mod command;
mod renew;
mod runtimes;
mod serve;
mod verify;
