//! The llama.cpp adapter without llama.cpp; what needs the real library is in `tests/`.
mod bridges;
mod finding;
mod paces;
mod sizes;
mod standin;
