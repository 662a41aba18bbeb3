//! Everything that needs more than one package, or the real things.

mod crashes;
mod gate;
mod http;
mod llama;
mod parity;
mod real;
mod things;
