//! Performs core's install, probe and resolve effects with blocking calls.
//!
//! Nothing here decides: [`install::run`] drives core's install machine and [`probe::facts`] puts
//! core's questions to this machine. What an answer means is core's.

mod archive;
mod cancel;
mod check;
mod copy;
mod fetch;
mod files;
pub mod home;
pub mod install;
mod inventory;
pub mod lease;
pub mod lookup;
mod net;
pub mod probe;
mod process;
pub mod pull;
pub mod request;
mod staged;
pub mod verify;

pub use cancel::Cancel;
pub use check::check;
pub use home::Home;
