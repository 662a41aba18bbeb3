//! The capability record: what a loaded model can do, each leaf true or a string saying why not.

mod check;

pub use check::{CheckReport, Device};

use alloc::string::String;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One loaded model's record, as its runtime reported it; unknown leaves are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(pub Map<String, Value>);
