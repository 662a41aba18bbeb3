//! Pulls: ids, listings, the choice of files, and the machine against a model hub and cache.

mod choose;
mod machine;
mod names;
mod refusals;
mod world;
