//! The shipped binaries, built from these sources and never older than them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Where the binaries are.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Has cargo build them in the profile this program was built in; fails with what cargo said.
    /// `SUPERFLUID_TEST_BINARIES` names a folder that holds them already.
    pub fn build() -> Result<Self, String> {
        Self::made_by(|cargo| cargo.arg("--quiet").stderr(Stdio::piped()))
    }

    /// Like [`Self::build`], with cargo's progress shown.
    pub fn build_visibly() -> Result<Self, String> {
        Self::made_by(|cargo| cargo.stderr(Stdio::inherit()))
    }

    fn made_by(show: fn(&mut Command) -> &mut Command) -> Result<Self, String> {
        if let Some(folder) = std::env::var_os("SUPERFLUID_TEST_BINARIES") {
            return Ok(Self { folder: folder.into() });
        }
        let binaries = Self::beside_this_program()?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        // The whole workspace, since cargo picks features by what is selected: any other choice would
        // compile the dependencies a second time for the tests.
        build.args(["build", "--workspace", "--bins"]).current_dir(crate::repository());
        if binaries.folder.ends_with("release") {
            build.arg("--release");
        }
        let output = show(&mut build).spawn().and_then(Child::wait_with_output);
        let output = output.map_err(|e| format!("cannot run cargo: {e}"))?;
        match output.status.success() {
            true => Ok(binaries),
            false => Err(format!("cargo build failed\n{}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// The ones built last, in the target folder that this program lies in.
    pub fn beside_this_program() -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
        // <target>/<profile>/quickstart, or <target>/<profile>/deps/it-<hash>
        let folder = me.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
        Ok(Self { folder: folder.unwrap_or(&me).into() })
    }

    /// The path of one.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }
}

/// The `superfluid` command with `home` as its home and none of this machine's settings for it.
///
/// # Panics
/// Where the binaries can't be built.
pub fn command(home: &Path) -> Command {
    static BINARIES: OnceLock<Binaries> = OnceLock::new();
    let binaries = BINARIES.get_or_init(|| Binaries::build().unwrap_or_else(|said| panic!("{said}")));
    let mut command = Command::new(binaries.path("superfluid"));
    for (name, _) in std::env::vars_os() {
        let settings = name.to_string_lossy();
        if settings.starts_with("SUPERFLUID_") || settings.starts_with("LLAMA_") {
            command.env_remove(&name);
        }
    }
    command.env("SUPERFLUID_HOME", home);
    command
}
