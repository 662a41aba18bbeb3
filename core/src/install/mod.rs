//! What to fetch for a machine, and how to place it so that it is whole or absent.
//!
//! [`recipe`] holds the tested releases as data, [`plan`] turns a request, the machine's facts and
//! a recipe into an ordered list of plans, [`machine`] carries one out, [`archive`] judges members,
//! [`layout`], [`Manifest`] and [`rank`] say what lies where and which install is the default.

pub mod archive;
pub mod check;
pub mod inventory;
pub mod layout;
pub mod lease;
pub mod machine;
mod manifest;
mod name;
pub mod packages;
pub mod pip;
pub mod plan;
mod planned;
pub mod rank;
pub mod recipe;
pub mod renew;

pub use inventory::ManifestFile;
pub use lease::Lease;
pub use manifest::{Manifest, ManifestSource};
pub use name::InstallName;
pub use packages::{Index, Packages, Wheel};
pub use plan::{Candidate, Planning, Request};
pub use planned::{Plan, PlannedAsset, Source, Trust};
pub use rank::Installed;
pub use recipe::Recipe;
