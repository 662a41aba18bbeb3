//! What machine this is: facts parsed from what probes returned.
//!
//! [`probes`] lists what to ask, a driver asks it, [`HostFacts::from_probes`] reads the answers.

mod facts;
mod nvidia;
mod parse;
mod probe;

pub use facts::{Arch, Fact, Finding, HostFacts, Memory, NvidiaDriver, Os};
pub use nvidia::DriverVersion;
pub use probe::{Answer, Probe, Probed, probes};
