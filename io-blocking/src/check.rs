//! Asks a worker that is in its place what it can do, without loading a model's weights.

use crate::Cancel;
use crate::staged::run_check;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::capability::CheckReport;
use superfluid_core::install::machine::read_report;
use superfluid_core::runtime::RuntimeId;

/// How long it may take: libraries are loaded and a GPU's driver started.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the worker at `path` with `args`, which end in its `check` command, and nothing but `env`.
///
/// # Errors
/// What the worker refuses, or that it does not run, in its own words.
pub fn check(
    runtime: RuntimeId,
    path: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
) -> Result<CheckReport, Refusal> {
    let mut command = Command::new(path);
    command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    read_report(
        &run_check(path, &mut command, LIMIT, &Cancel::default()),
        &format!("the {} worker", runtime.as_str()),
    )
}
