//! Models from a hub, by id: which of a repository's files are wanted, fetched, verified and placed.
//!
//! [`ModelId`] is what people type, [`hub`] the hub's addresses and answers, [`choose`] the files
//! of one model among a repository's, [`cache`] where they lie: the layout that the hub's own tools
//! share, so that nothing is fetched twice. [`Machine`] carries a pull out.

pub mod cache;
mod choose;
mod gguf_name;
pub mod hub;
mod id;
mod machine;
mod url;

pub use choose::{Chosen, choose};
pub use gguf_name::quant;
pub use hub::{Digest, HubFile, HubListing};
pub use id::{ModelId, Revision, wanted};
pub use machine::{
    Action, Answer, Effect, Event, Machine, Outcome, Place, Pulled, Settings, judge_fetch, refused,
};
pub use url::{Endpoint, hop};
