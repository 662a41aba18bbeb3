//! Tests of the shipped command.

mod command;
mod config;
mod continued;
mod daemon;
mod golden;
mod interrupts;
mod keys;
mod leases;
mod log;
mod mlx;
mod models;
mod offline;
mod pull;
mod readers;
mod renew;
mod runtimes;
mod sandbox;
mod serve;
mod service;
mod verify;
