//! The `superfluid` command.

mod interrupt;
mod print;
mod pull;
mod runtime;
mod serve;
mod signals;

use clap::{CommandFactory, Parser, Subcommand};
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
    /// Serve models
    Serve(serve::ServeArgs),
    /// Fetch a model from the hub and print where it is
    Pull(pull::PullArgs),
    /// Show the state of every runtime, or which runtime serves a model
    Runtimes(runtime::RuntimesArgs),
    /// Install, select and remove runtimes
    #[command(subcommand)]
    Runtime(runtime::RuntimeCommand),
}

fn main() -> ExitCode {
    let args = match serve::config::with_file(&Cli::command(), std::env::args_os().collect()) {
        Ok(args) => args,
        Err(refusal) => return print::refusal(&refusal),
    };
    match Cli::parse_from(args).command {
        Command::Serve(args) => serve::run(args),
        Command::Pull(args) => pull::run(&args),
        Command::Runtimes(args) => runtime::show(&args),
        Command::Runtime(command) => runtime::run(command),
    }
}
