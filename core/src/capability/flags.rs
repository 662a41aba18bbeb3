//! Startup flags a runtime cannot honour, refused before its worker starts.

use super::{Leaf, Record, Support};
use crate::api::codes::UNSUPPORTED_RUNTIME;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The startup flags that depend on the runtime, as the operator gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flags {
    /// `--park-lossy`.
    pub park_lossy: bool,
    /// `--kv-bits`; 0 is the runtime's own choice.
    pub kv_bits: u32,
    /// `--speculate`; `None` is `auto`.
    pub speculate: Option<String>,
}

impl Flags {
    /// Whether they ask nothing that a runtime could refuse.
    pub fn is_plain(&self) -> bool {
        let speculates = !matches!(self.speculate.as_deref(), None | Some("auto" | "off"));
        !self.park_lossy && self.kv_bits == 0 && !speculates
    }
}

/// Refuses flags that `record` says no to: the loaded model's, or what is known before one is
/// loaded (`check`, [`Record::primitive`]).
///
/// `--speculate auto` and `off` are never refused.
///
/// # Errors
/// `unsupported_runtime`, with the flag as its `param` and the record's own words as the message.
pub fn validate_flags(record: &Record, flags: &Flags) -> Result<(), Refusal> {
    if flags.park_lossy {
        refuse_no(record, Leaf::ParkLossy, "--park-lossy")?;
    }
    if flags.kv_bits != 0 {
        refuse_no(record, Leaf::KvBits, "--kv-bits")?;
    }
    match flags.speculate.as_deref() {
        None | Some("auto" | "off") => Ok(()),
        Some(strategy) => validate_strategy(record, strategy),
    }
}

fn validate_strategy(record: &Record, strategy: &str) -> Result<(), Refusal> {
    const FLAG: &str = "--speculate";
    if let Some(known) = record.strategies()
        && !known.contains(&strategy)
    {
        let runtime = record.runtime();
        let what = if known.is_empty() {
            "does not speculate".into()
        } else {
            format!("speculates by {} only", known.join(", "))
        };
        return Err(refused(FLAG, &format!("the {runtime} runtime {what}")));
    }
    refuse_no(record, Leaf::Speculation, FLAG)?;
    refuse_no(record, Leaf::Rollback, FLAG)
}

fn refuse_no(record: &Record, leaf: Leaf, flag: &str) -> Result<(), Refusal> {
    match record.support(leaf) {
        Support::No(why) => Err(refused(flag, why)),
        Support::Yes | Support::Unknown => Ok(()),
    }
}

fn refused(flag: &str, why: &str) -> Refusal {
    let hint = if flag == "--speculate" {
        format!("{flag} auto is never refused")
    } else {
        format!("leave out {flag}")
    };
    Refusal::new(UNSUPPORTED_RUNTIME, why).hint(hint).param(flag)
}
