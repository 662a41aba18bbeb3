//! The `superfluid` command.

mod serve;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Serve local language models behind an OpenAI-compatible API.
#[derive(Parser)]
#[command(name = "superfluid", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a model
    Serve(serve::ServeArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
    }
}
