//! `superfluid-worker-llamacpp`: the worker that an install of llama.cpp runs.

use std::process::ExitCode;
use superfluid_worker_llamacpp::{LlamaRuntime, Places};

fn main() -> ExitCode {
    superfluid_worker_kit::main(&mut LlamaRuntime::new(Places::of_this_process()))
}
