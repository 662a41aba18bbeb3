//! `superfluid runtime verify`: what changed on disk since an install was placed.

use super::to_json;
use crate::print::{self, plain};
use clap::Args;
use std::fmt::Write;
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_core::install::InstallName;
use superfluid_core::install::inventory::{Checked, Kind, Verified};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::{Home, verify};

/// What `superfluid runtime verify` takes.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// llamacpp, mlx, basert; without it, every runtime
    #[arg(value_name = "ID", value_parser = super::runtime_id)]
    runtime: Option<RuntimeId>,
    /// The install to verify; without it, all of them
    #[arg(value_parser = super::install_name)]
    install: Option<InstallName>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Exits 1 where anything is not as it was placed, or cannot be told.
pub(super) fn run(args: &VerifyArgs) -> ExitCode {
    match checked(args) {
        Err(refusal) => print::refusal(&refusal),
        Ok(checked) => {
            let whole = checked.iter().all(|one| matches!(one.verified, Verified::Unchanged { .. }));
            let printed = print::data(&if args.json { to_json(&checked) } else { text(&checked) });
            if whole { printed } else { ExitCode::FAILURE }
        }
    }
}

fn checked(args: &VerifyArgs) -> Result<Vec<Checked>, Refusal> {
    let home = Home::from_env()?;
    if let Some(runtime) = args.runtime {
        return verify::installs(runtime, args.install.as_ref(), &home);
    }
    let mut all = Vec::new();
    for runtime in RuntimeId::ALL {
        match verify::installs(runtime, None, &home) {
            Ok(checked) => all.extend(checked),
            Err(refusal) if refusal.code == "not_installed" => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(all)
}

fn text(checked: &[Checked]) -> String {
    if checked.is_empty() {
        return "nothing is installed\n".into();
    }
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", plain(&line));
    };
    for Checked { runtime, install, verified } in checked {
        match verified {
            Verified::Unchanged { files } => line(format!("{runtime} {install}: unchanged, {files} files")),
            Verified::Changed { changes } => {
                line(format!("{runtime} {install}: changed since it was installed"));
                for change in changes {
                    let word = match change.change {
                        Kind::Missing => "missing",
                        Kind::Changed => "changed",
                        Kind::Extra => "extra",
                    };
                    line(format!("  {word:<8} {} {}", change.path, change.detail).trim_end().into());
                }
                line(format!("  hint: superfluid runtime repair {runtime} {install} installs it again"));
            }
            Verified::Unknown { refusal } => {
                line(format!("{runtime} {install}: cannot be verified: {}", refusal.message));
                line(format!("  hint: superfluid runtime repair {runtime} {install} installs it again"));
            }
        }
    }
    text
}
