//! Tests of the shipped command.

mod command;
mod continued;
mod daemon;
mod renew;
mod runtimes;
mod serve;
mod verify;
