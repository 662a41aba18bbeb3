//! The capability record and what it refuses.
mod flags;
mod record;
mod requests;
