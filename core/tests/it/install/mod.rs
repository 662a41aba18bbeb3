//! Planning, ranking, names and manifests.

mod from;
mod manifest;
mod names;
mod plan;
mod rank;
mod recipe;
mod renew;
