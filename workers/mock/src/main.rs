//! The mock as a worker of its own; `superfluid-workerd --engine mock` is the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    superfluid_worker_mock::main(std::env::args_os().skip(1))
}
