//! `superfluid serve`.

use std::path::PathBuf;
use std::process::ExitCode;

/// What `superfluid serve` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The model file or directory
    model: PathBuf,
}

/// Serves until a signal ends it.
#[expect(clippy::needless_pass_by_value, reason = "the shape every subcommand has")]
pub(crate) fn run(args: ServeArgs) -> ExitCode {
    eprintln!("error: cannot serve {}: this build has no server", args.model.display());
    ExitCode::FAILURE
}
