//! Tests of the shipped command.

mod command;
mod config;
mod continued;
mod daemon;
mod keys;
mod renew;
mod runtimes;
mod sandbox;
mod serve;
mod verify;
