//! A home in a temporary folder, and installs into it.

use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Event, Finished, Machine, Settings};
use superfluid_core::install::{InstallName, Plan, PlannedAsset, Source, Trust};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::install::{self, Reporter, look};
use tempfile::TempDir;

/// A home of its own.
pub(crate) struct World {
    pub(crate) temp: TempDir,
    pub(crate) dir: PathBuf,
}

/// Keeps what it hears.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Vec<Event>);

impl Reporter for Heard {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = temp.path().join("home/runtimes/llamacpp");
        Self { temp, dir }
    }

    /// Puts an archive beside the home.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.temp.path().join(name);
        std::fs::write(&path, bytes).expect("the archive is written");
        path.display().to_string()
    }

    /// Installs `bytes` as b1-cpu.
    pub(crate) fn install(&self, bytes: &[u8]) -> Result<Finished, Refusal> {
        let path = self.put("a.tar.gz", bytes);
        self.install_plans(vec![plan("b1", "cpu", &path)]).0
    }

    pub(crate) fn install_plans(&self, plans: Vec<Plan>) -> (Result<Finished, Refusal>, Vec<Event>) {
        let mut heard = Heard::default();
        let result = Machine::install(plans, settings())
            .and_then(|mut machine| install::run(&mut machine, RuntimeId::Llamacpp, &self.dir, &mut heard));
        (result, heard.0)
    }

    pub(crate) fn edit(&self, mut machine: Machine) -> Result<Finished, Refusal> {
        install::run(&mut machine, RuntimeId::Llamacpp, &self.dir, &mut Heard::default())
    }

    /// Names in the runtime's directory, the lock file apart.
    pub(crate) fn names(&self) -> Vec<String> {
        let listing = look(RuntimeId::Llamacpp, &self.dir).expect("it reads");
        listing.entries.into_iter().map(|entry| entry.name).filter(|name| name != ".lock").collect()
    }

    /// Installs that must be refused, after which nothing is left; the message.
    pub(crate) fn refused(&self, bytes: &[u8]) -> String {
        let refusal = self.install(bytes).expect_err("it must be refused");
        assert_eq!(self.names(), Vec::<String>::new(), "after {}", refusal.message);
        refusal.message
    }
}

pub(crate) fn settings() -> Settings {
    Settings { nonce: install::nonce(), superfluid: "0".into(), ..Settings::default() }
}

pub(crate) fn name(text: &str) -> InstallName {
    InstallName::new(text).expect("a name")
}

pub(crate) fn plan(version: &str, backend: &str, path: &str) -> Plan {
    Plan {
        runtime: "llamacpp".into(),
        name: InstallName::of(version, backend).expect("a name"),
        version: version.into(),
        backend: backend.into(),
        assets: vec![PlannedAsset {
            name: "a.tar.gz".into(),
            source: Source::File { path: path.into() },
            size: None,
            sha256: None,
            trust: None,
        }],
        packages: None,
        reason: "a test".into(),
    }
}

/// The same with a digest to check.
pub(crate) fn checked(mut plan: Plan, sha256: &str) -> Plan {
    plan.assets[0].sha256 = Some(sha256.into());
    plan.assets[0].trust = Some(Trust::User);
    plan
}

/// Every path below `root`, with what it is and holds.
pub(crate) fn tree(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let entry = entry.expect("an entry");
            let path = entry.path();
            let kind = entry.file_type().expect("a type");
            let what = if kind.is_dir() {
                folders.push(path.clone());
                "dir".into()
            } else if kind.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).expect("a link").display())
            } else {
                format!("{:?}", std::fs::read(&path).expect("a file"))
            };
            found.push((path.strip_prefix(root).expect("below").display().to_string(), what));
        }
    }
    found.sort();
    found
}
