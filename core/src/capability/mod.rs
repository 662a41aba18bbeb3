//! The capability record: what a loaded model can do, each leaf true or a string saying why not.
//!
//! A runtime fills a [`Record`] leaf by leaf; [`validate_flags`], [`validate_workload`] and
//! [`validate_request`] refuse what it says no to. A leaf that is absent is unknown, and unknown is
//! never a reason to refuse: some runtimes tell only once a model is loaded, or not at all.

mod check;
mod flags;
mod leaf;
mod record;
mod request;

pub use check::{CheckReport, Device};
pub use flags::{Flags, validate_flags};
pub use leaf::{Leaf, Support};
pub use record::Record;
pub use request::{Workload, validate_request, validate_workload};
