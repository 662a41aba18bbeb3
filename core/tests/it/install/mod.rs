//! Planning, ranking, names and manifests.

mod basert;
mod from;
mod inventory;
mod manifest;
mod names;
mod plan;
mod rank;
mod recipe;
mod renew;
