//! Planning, ranking, names and manifests.

mod basert;
mod from;
mod inventory;
mod manifest;
pub(crate) mod mlx;
mod names;
mod plan;
mod rank;
mod recipe;
mod renew;
