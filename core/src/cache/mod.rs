//! Which states are held for which tokens: a radix tree over token ids.
//!
//! An entry is one held state: a sequence on the device, an export in host memory, an artifact on
//! disk. Entries that begin alike share the tokens they begin with, whoever holds them, and a running
//! lane's entry is found by others while it still grows.
//!
//! | file | idea |
//! |---|---|
//! | `tree` | the tree: entries come, grow, are cut, held, and go |
//! | `find` | the one walk along a prompt |
//! | `node` | nodes: split, merge, and the index of what lies below each |
//! | `sound` | what must hold between any two calls |

mod find;
mod node;
mod sound;
mod tree;

pub use find::{Found, Match};
pub(crate) use node::common;
pub use tree::{EntryId, Held, Hold, Place, Tree};
