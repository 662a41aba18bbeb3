//! Whether a package can be compiled where there is no std.
//!
//! `#![no_std]` alone does not keep std out: `extern crate std` passes, and so does a dependency
//! with its std feature on. So the package is compiled against a sysroot that holds only `core`,
//! `alloc` and `compiler_builtins`, alone (a build of the workspace unifies features) and with an
//! explicit target (build scripts and derive macros keep the real std).

use super::Fault;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a sysroot without std holds.
const LIBRARIES: [&str; 5] =
    ["core", "alloc", "compiler_builtins", "rustc_std_workspace_core", "rustc_std_workspace_alloc"];

/// Checks `superfluid-core`; outputs go to a folder of their own inside the target folder.
pub fn core_reaches_std(repository: &Path) -> Vec<Fault> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
    reaches_std(repository, "superfluid-core", &target.join("no-std"))
}

/// Compiles `package` of the workspace in `folder` where there is no std, with outputs in `target`.
pub fn reaches_std(folder: &Path, package: &str, target: &Path) -> Vec<Fault> {
    compile(folder, package, target).unwrap_or_else(|e| vec![format!("{package}: cannot be checked: {e}")])
}

fn compile(folder: &Path, package: &str, target: &Path) -> io::Result<Vec<Fault>> {
    let host = rustc(&["-vV"])?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    let real =
        PathBuf::from(rustc(&["--print", "sysroot"])?.trim()).join("lib/rustlib").join(&host).join("lib");
    let sysroot = target.join("sysroot");
    fill(&sysroot.join("lib/rustlib").join(&host).join("lib"), &real)?;

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut check = Command::new(cargo);
    check.args([
        "check",
        "--quiet",
        "--color=never",
        "--package",
        package,
        "--target",
        &host,
        "--target-dir",
    ]);
    check.arg(target).current_dir(folder).env_remove("RUSTFLAGS");
    check.env("CARGO_ENCODED_RUSTFLAGS", format!("--sysroot\u{1f}{}", sysroot.display()));
    let output = check.output()?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(vec![format!("{package}: does not compile without std:\n{said}")])
}

/// Links the toolchain's own libraries that may be there into `folder`, and nothing else.
fn fill(folder: &Path, real: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for old in fs::read_dir(folder)? {
        fs::remove_file(old?.path())?; // an older toolchain's
    }
    let mut found = 0;
    for entry in fs::read_dir(real)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let library = name.strip_prefix("lib").and_then(|name| Some(name.rsplit_once('-')?.0));
        if library.is_some_and(|library| LIBRARIES.contains(&library)) {
            std::os::unix::fs::symlink(entry.path(), folder.join(&name))?;
            found += usize::from(library == Some("core"));
        }
    }
    match found {
        0 => Err(io::Error::other(format!("{} holds no core library", real.display()))),
        _ => Ok(()),
    }
}

fn rustc(arguments: &[&str]) -> io::Result<String> {
    let output =
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).args(arguments).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
