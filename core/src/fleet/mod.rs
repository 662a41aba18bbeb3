//! Which of a daemon's models are loaded, and which requests may go to them now.
//!
//! [`Fleet`] knows every model by its id. A request for one that is loaded goes at once; one for a
//! model that is not waits while it is loaded, together with whoever else asks for it. A model that
//! was not used for long is unloaded, and so is the one that was not used for longest when another
//! needs its room; never one with requests that run. What happens to a loaded model's worker
//! process is [`supervise`](crate::supervise)'s matter: here it is ready once, and gone once.
//!
//! Each load is named by the [`Load`] that its [`Effect::Start`] carried, so that what becomes of an
//! earlier one can't be taken for its successor's.

mod config;
mod entry;
mod event;
mod machine;
mod reason;
mod room;

pub use config::{Config, Listed};
pub use event::{AskId, Effect, Event, Gone, Load, ModelIx, RequestId, Standing, Wake};
pub use machine::Fleet;
