//! The worker's command line: `version | check [--model PATH] | serve`.

use crate::runtime::Runtime;
use crate::sandbox;
use crate::serve::{self, Ended};
use crate::stdio;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_core::wire::PROTOCOL;

/// The version every worker of this build carries.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A worker's `main`: carries out the process's arguments.
///
/// `check` prints exactly one JSON object on standard output, `serve` exactly frames; everything
/// else, whoever prints it, goes to standard error. Exit code 0 is success, 1 a failure told on
/// standard error, 2 a command line that is not understood.
pub fn main(runtime: &mut dyn Runtime) -> ExitCode {
    main_with(runtime, std::env::args_os().skip(1))
}

/// [`main`] with the arguments given.
pub fn main_with(runtime: &mut dyn Runtime, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = match parse(runtime, args) {
        Ok(command) => command,
        Err(refusal) => {
            tell(runtime, &refusal);
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => print(&usage(runtime)),
        Command::Version => {
            print(&format!("superfluid-worker-{} {VERSION} (protocol {PROTOCOL})", runtime.id()))
        }
        Command::Check { model } => check(runtime, model.as_deref()),
        Command::Serve => serve(runtime),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            tell(runtime, &refusal);
            ExitCode::FAILURE
        }
    }
}

enum Command {
    Help,
    Version,
    Check { model: Option<PathBuf> },
    Serve,
}

fn parse(runtime: &mut dyn Runtime, args: impl IntoIterator<Item = OsString>) -> Result<Command, Refusal> {
    let mut args = args.into_iter();
    let mut command = None;
    let mut model = None;
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        let Some(option) = text.strip_prefix("--") else {
            let known = match text.as_str() {
                "version" => Command::Version,
                "check" => Command::Check { model: None },
                "serve" => Command::Serve,
                "-h" | "help" => Command::Help,
                "-V" => Command::Version,
                _ => return Err(unknown(runtime, format!("there is no command {text:?}"))),
            };
            if command.replace(known).is_some() {
                return Err(unknown(runtime, format!("one command at a time; {text:?} is the second")));
            }
            continue;
        };
        let (name, inline) = match option.split_once('=') {
            Some((name, _)) => (name, Some(after_equals(&arg))),
            None => (option, None),
        };
        match name {
            "help" => command = Some(Command::Help),
            "version" => command = Some(Command::Version),
            _ => {
                let value = inline.or_else(|| args.next());
                let Some(value) = value else {
                    return Err(unknown(runtime, format!("--{name} is unknown or lacks its value")));
                };
                if name == "model" {
                    model = Some(PathBuf::from(value));
                } else if !runtime.option(name, &value)? {
                    return Err(unknown(runtime, format!("there is no option --{name}")));
                }
            }
        }
    }
    match (command, model) {
        (Some(Command::Check { .. }), model) => Ok(Command::Check { model }),
        (Some(_), Some(_)) => Err(unknown(runtime, "--model goes with check".into())),
        (Some(command), None) => Ok(command),
        (None, _) => Err(unknown(runtime, "no command was given".into())),
    }
}

/// What follows the first `=`, whatever bytes it is made of.
fn after_equals(arg: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = arg.as_bytes();
    let at = bytes.iter().position(|b| *b == b'=').map_or(bytes.len(), |at| at + 1);
    OsString::from_vec(bytes[at..].to_vec())
}

fn usage(runtime: &dyn Runtime) -> String {
    format!("usage: superfluid-worker-{} version | check [--model PATH] | serve", runtime.id())
}

fn unknown(runtime: &dyn Runtime, message: String) -> Refusal {
    Refusal::new("bad_arguments", message).hint(usage(runtime))
}

fn check(runtime: &mut dyn Runtime, model: Option<&Path>) -> Result<(), Refusal> {
    let mut out = stdio::reserve_stdout().map_err(|e| broken_output(&e))?;
    let report = runtime.check(model)?;
    let json = serde_json::to_string(&report).map_err(|e| broken_output(&e.into()))?;
    writeln!(out, "{json}").map_err(|e| broken_output(&e))
}

fn serve(runtime: &mut dyn Runtime) -> Result<(), Refusal> {
    if io::stdin().is_terminal() {
        return Err(Refusal::new("no_daemon", "serve speaks frames with a daemon on its standard input")
            .hint("run `superfluid serve <model>`, which starts this worker itself"));
    }
    stdio::die_with_parent();
    // Before there is a second thread, which would stay outside.
    sandbox::enter()?;
    let output = stdio::reserve_stdout().map_err(|e| broken_output(&e))?;
    let input = stdio::take_stdin().map_err(|e| broken_output(&e))?;
    match serve::serve(runtime, input, output, Some(serve::LINGER)) {
        Ended::Drained | Ended::LinkClosed => Ok(()),
        Ended::Failed(refusal) => Err(refusal),
    }
}

fn print(line: &str) -> Result<(), Refusal> {
    writeln!(io::stdout(), "{line}").map_err(|e| broken_output(&e))
}

fn broken_output(error: &io::Error) -> Refusal {
    Refusal::new("broken_output", format!("standard input or output cannot be used: {error}"))
}

/// A refusal for people: what happened, then what to do, a line each.
fn tell(runtime: &dyn Runtime, refusal: &Refusal) {
    let mut text = format!("superfluid-worker-{}: {refusal}\n", runtime.id());
    for hint in &refusal.hints {
        text += &format!("  {hint}\n");
    }
    // Nobody may be left to read it.
    let _ = io::stderr().write_all(text.as_bytes());
}
