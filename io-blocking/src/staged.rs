//! Runs the programs of an install, most of them before it is in its place.

use crate::Cancel;
use crate::files::{self, fault};
use crate::process::{self, Ended};
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use superfluid_core::install::machine::{Fault, FaultKind, Run};
use superfluid_core::install::pip::{Variable, environment};
use superfluid_core::runtime::env::is_credential;

/// Most that is kept of each of a program's outputs.
const OUTPUT_MAX: usize = 1 << 20;

/// Runs a worker's `check`.
pub(crate) fn check(worker: &Path, limit_ms: u64, cancel: &Cancel) -> Run {
    let mut command = Command::new(worker);
    command.arg("check");
    for (name, _) in std::env::vars_os() {
        if is_credential(&name.to_string_lossy()) {
            command.env_remove(&name);
        }
    }
    run_check(worker, &mut command, Duration::from_millis(limit_ms), cancel)
}

/// Runs `command`, which is a worker's `check`, staged or in its place.
pub(crate) fn run_check(worker: &Path, command: &mut Command, limit: Duration, cancel: &Cancel) -> Run {
    ran(worker, process::run_until(command, limit, OUTPUT_MAX, cancel))
}

/// Runs a program in `dir` with these variables and no others.
pub(crate) fn run(
    program: &Path,
    dir: &Path,
    args: &[String],
    env: &[Variable],
    limit_ms: u64,
    cancel: &Cancel,
) -> Run {
    let mut command = Command::new(program);
    let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    command.args(args).current_dir(dir).env_clear().envs(environment(env, own));
    ran(program, process::run_tied(&mut command, Duration::from_millis(limit_ms), OUTPUT_MAX, cancel))
}

fn ran(program: &Path, ended: io::Result<Ended>) -> Run {
    match ended {
        Ok(Ended { status: None, stderr, .. }) => Run::TimedOut { stderr },
        Ok(Ended { status: Some(status), stdout, stderr }) => {
            Run::Exited { code: status.code(), signal: status.signal(), stdout, stderr }
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied && files::is_noexec(program) => {
            let mount =
                files::mount_of(program).map_or_else(String::new, |mount| format!(" {}", mount.display()));
            Run::NotStarted(Fault::new(
                FaultKind::NoExec,
                format!(
                    "programs may not run from {}: its file system{mount} is mounted noexec",
                    program.display()
                ),
            ))
        }
        Err(error) => Run::NotStarted(fault(&format!("cannot run {}", program.display()), &error)),
    }
}
