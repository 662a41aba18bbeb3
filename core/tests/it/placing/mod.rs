//! The install machine against a model file system, and the archive judge.

mod archive;
mod arrange;
mod cut;
mod disk;
mod lease;
mod machine;
mod mlx;
mod pip;
mod renew;
mod retry;
mod verdict;

use superfluid_core::install::machine::{Purpose, Settings};
use superfluid_core::install::{InstallName, Plan, PlannedAsset, Source, Trust};

/// A plan of one local archive with the digest the model file system gives it.
pub(crate) fn plan(version: &str, backend: &str) -> Plan {
    Plan {
        runtime: "llamacpp".into(),
        name: InstallName::of(version, backend).expect("a plain name"),
        version: version.into(),
        backend: backend.into(),
        assets: vec![asset(&format!("{version}-{backend}.tar.gz"))],
        packages: None,
        reason: "a test".into(),
    }
}

pub(crate) fn asset(name: &str) -> PlannedAsset {
    PlannedAsset {
        name: name.into(),
        source: Source::File { path: format!("/archives/{name}") },
        size: None,
        sha256: Some(disk::digest(name)),
        trust: Some(Trust::User),
    }
}

pub(crate) fn settings(nonce: &str) -> Settings {
    Settings {
        nonce: nonce.into(),
        adapter: Some("/usr/bin/superfluid-worker-llamacpp".into()),
        superfluid: "0.1.0".into(),
        installed_at: 1_700_000_000,
        purpose: Purpose::Install,
    }
}
