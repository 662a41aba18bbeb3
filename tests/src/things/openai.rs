//! The official OpenAI client for Python, in an environment of its own.

use super::Trouble;
use super::fetch::{lock, remove, run};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The exact version tests run.
const VERSION: &str = "3.57.0";

/// A Python that can `import openai`.
pub fn python_with_openai() -> Result<PathBuf, Trouble> {
    let home = crate::cache().join("python");
    let environment = home.join(format!("openai-{VERSION}"));
    let python = environment.join("bin/python");
    // Written last: an environment without it is one that a dead process left half made.
    let ready = environment.join("ready");
    if ready.is_file() {
        return Ok(python);
    }
    if super::offline() {
        return Err(Trouble::new(format!(
            "the openai client is not in {}, and SUPERFLUID_TEST_OFFLINE forbids fetching it",
            home.display()
        )));
    }
    fs::create_dir_all(&home).map_err(|e| Trouble::io("make", &home, &e))?;
    let _lock = lock(&home.join(format!("openai-{VERSION}.lock")))?;
    if ready.is_file() {
        return Ok(python);
    }
    eprintln!("fetching the openai client for Python …");
    remove(&environment)?;
    let missing = "install Python 3 with venv and pip (Debian: apt install python3-venv python3-pip)";
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment), missing)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    run(pip.arg(format!("openai=={VERSION}")), missing)?;
    fs::write(&ready, VERSION).map_err(|e| Trouble::io("write", &ready, &e))?;
    Ok(python)
}
