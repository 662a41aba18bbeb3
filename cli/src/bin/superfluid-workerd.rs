//! Workers of the runtimes linked into this build: `superfluid-workerd --engine <id> <command>`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (first, engine) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    match (first.to_str(), engine.to_str()) {
        (Some("--engine"), Some("mock")) => superfluid_worker_mock::main(args),
        (Some("--engine"), _) => {
            eprintln!("superfluid-workerd: this build has no runtime {engine:?}; it has mock");
            ExitCode::from(2)
        }
        _ => {
            eprintln!("usage: superfluid-workerd --engine mock version | check [--model PATH] | serve");
            ExitCode::from(2)
        }
    }
}
