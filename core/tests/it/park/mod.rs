//! Artifacts on disk: the format, the names, the room.

mod artifact;
mod names;
mod play;
