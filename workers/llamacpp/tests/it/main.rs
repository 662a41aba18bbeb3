//! The llama.cpp adapter without llama.cpp; what needs the real library is in `tests/`.
mod finding;
mod sizes;
mod standin;
