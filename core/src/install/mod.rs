//! What to fetch for a machine, and how to place it so that it is whole or absent.
//!
//! `recipe` holds the tested releases as data, `plan` turns a request, the machine's facts and a
//! recipe into an ordered list of plans, `machine` carries one out, `archive` judges members,
//! `layout`, `manifest` and `rank` say what lies where and which install is the default.

mod name;
mod planned;

pub use name::InstallName;
pub use planned::{Plan, PlannedAsset, Source, Trust};
