//! The llama.cpp adapter over the real library and real small models, in one process.

mod answers;
mod given;
mod refusals;
mod special;
mod state;
mod vocabulary;
