//! The daemon's half of the house against real processes and raw sockets.

mod access;
mod bounds;
mod client;
mod deaths;
mod fake;
mod fleet;
mod leaving;
mod measured;
mod prompts;
mod rig;
mod starts;
mod streams;
