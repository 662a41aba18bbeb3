//! Compares installs with what their manifests say was placed.

use crate::{Home, install, inventory};
use superfluid_core::Refusal;
use superfluid_core::install::inventory::{Checked, verify};
use superfluid_core::install::{InstallName, renew};
use superfluid_core::runtime::RuntimeId;

/// Verifies one install of a runtime, or all of them. Takes no lock and changes nothing.
pub fn installs(
    runtime: RuntimeId,
    name: Option<&InstallName>,
    home: &Home,
) -> Result<Vec<Checked>, Refusal> {
    let dir = home.runtime(runtime);
    let listing = install::look(runtime, &dir)?;
    let manifests = renew::manifests(runtime, name, &listing)?;
    let check = |(install, manifest): (InstallName, Result<_, Refusal>)| {
        let path = dir.join(install.as_str());
        let found = inventory::take(&path)
            .map_err(|error| Refusal::new("io", format!("cannot read {}: {error}", path.display())))?;
        Ok(Checked { runtime, verified: verify(manifest.as_ref().map_err(Clone::clone), &found), install })
    };
    manifests.into_iter().map(check).collect()
}
