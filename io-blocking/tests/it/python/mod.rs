//! A private Python for tests: this machine's own, packed as a standalone build is, and wheels
//! made here. Its installs are planned as on a Mac.

mod cut;
mod isolation;
mod places;

use crate::world::Heard;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use superfluid_core::host::{Arch, HostFacts, Os};
use superfluid_core::install::machine::{Machine, Settings};
use superfluid_core::install::{Index, Plan, Recipe, Request, Source, plan};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::install::{self, look};
use tempfile::TempDir;

const NAME: &str = "0.32.2-metal";
const PLAN: &str = "SUPERFLUID_IT_PLAN";

/// This machine's Python, packed once for all tests.
static ARCHIVE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let make = include_str!("make.py");
    let path = folder.join(format!("python-{}.tar.gz", &hex(make.as_bytes())[..16]));
    let lock = File::create(folder.join("python.lock")).expect("a lock");
    lock.lock().expect("locked");
    if !path.exists() {
        let half = folder.join("python-half.tar.gz");
        let made = Command::new("python3").args(["-I", "-c", make]).arg(&half).output();
        let made = made.expect("tests need Python 3 with pip and venv on the PATH");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::rename(&half, &path).expect("renamed");
    }
    path
});

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What makes a wheel: a module that says `words`, and a launcher.
const WHEEL: &str = r#"
import sys, zipfile
folder, name, version, words = sys.argv[1:5]
info = f"{name}-{version}.dist-info"
files = {
    f"{name}/__init__.py": f"WORDS = {words!r}\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: nowhere-to-be-found\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(zipfile.ZipInfo(path), text)
"#;

/// A home, a folder of wheels, and a stand-in for the worker.
pub(crate) struct Mac {
    temp: TempDir,
    /// The runtime's directory.
    pub(crate) dir: PathBuf,
    /// Wheels of `sf_one` and `sf_two`.
    pub(crate) wheels: PathBuf,
}

impl Mac {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = temp.path().join("a home/runtimes/mlx");
        let wheels = temp.path().join("the wheels");
        let mac = Self { temp, dir, wheels };
        mac.wheel(&mac.wheels, "sf_one", "one");
        mac.wheel(&mac.wheels, "sf_two", "two");
        mac.script(
            "superfluid-worker-mlx",
            r#"#!/bin/sh
test "$1" = check || exit 2
install=$(dirname "$0")/..
exec "$install/python/bin/python3" -I -B -c '
import json, sys
sys.path.insert(0, sys.argv[1])
import sf_one, sf_two
device = dict(backend="metal", name=sf_one.WORDS + sf_two.WORDS, kind="gpu", memory_total=0, memory_free=0)
print(json.dumps(dict(runtime="mlx", worker="0", protocol=1, version="0", formats=["mlx"], devices=[device], capabilities={})))
' "$install/env"
"#,
        );
        mac
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    /// Puts a wheel into a folder.
    pub(crate) fn wheel(&self, folder: &Path, name: &str, words: &str) -> PathBuf {
        fs::create_dir_all(folder).expect("a folder");
        let mut make = Command::new("python3");
        make.args(["-I", "-c", WHEEL]).arg(folder).args([name, "1.0", words]);
        assert!(make.status().expect("Python runs").success());
        folder.join(format!("{name}-1.0-py3-none-any.whl"))
    }

    /// What a Mac plans for `--from`, with this machine's Python and these wheels in the recipe.
    pub(crate) fn plan(&self, from: &str) -> Plan {
        let mut recipe = Recipe::of(RuntimeId::Mlx).expect("a recipe");
        let mut wheels = recipe.wheels[..2].to_vec();
        for (wheel, name) in wheels.iter_mut().zip(["sf_one", "sf_two"]) {
            wheel.file = format!("{name}-1.0-py3-none-any.whl");
            let bytes = fs::read(self.wheels.join(&wheel.file)).expect("a wheel");
            (wheel.size, wheel.sha256) = (bytes.len() as u64, hex(&bytes));
        }
        recipe.wheels = wheels;
        let bytes = fs::read(&*ARCHIVE).expect("an archive");
        (recipe.assets[0].size, recipe.assets[0].sha256) = (bytes.len() as u64, hex(&bytes));
        let facts = HostFacts::from_probes(Os::Macos, Arch::Arm64, &[]);
        let request = Request { from: Some(from.into()), ..Request::new(RuntimeId::Mlx) };
        let planning = plan::plan(&request, &facts, &recipe).expect("Apple silicon");
        let mut plan = planning.plans.into_iter().next().expect("a plan");
        plan.assets[0].source = Source::File { path: ARCHIVE.display().to_string() };
        plan
    }

    /// The plan whose wheels lie in their folder.
    pub(crate) fn folder_plan(&self) -> Plan {
        self.plan(self.wheels.to_str().expect("text"))
    }

    /// A process that carries the plan out, with a clean environment.
    pub(crate) fn command(&self, plan: &Plan) -> Command {
        let path = self.path("plan.json");
        fs::write(&path, serde_json::to_string(plan).expect("JSON")).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "--ignored", "--nocapture", "python::child_installs"]).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env(PLAN, path).env("SUPERFLUID_IT_DIR", &self.dir).env("HOME", self.path("me"));
        command.env("SUPERFLUID_IT_ADAPTER", self.path("superfluid-worker-mlx"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Carries the plan out in a process of its own: whether it went well, and what was said.
    pub(crate) fn install(&self, plan: &Plan, env: &[(&str, &str)]) -> (bool, String) {
        let output = self.command(plan).envs(env.iter().copied()).output().expect("a child");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            assert_eq!(self.names(), Vec::<String>::new(), "after {said}");
        }
        (output.status.success(), said)
    }

    /// Names in the runtime's directory, the lock file apart.
    pub(crate) fn names(&self) -> Vec<String> {
        let listing = look(RuntimeId::Mlx, &self.dir).expect("it reads");
        listing.entries.into_iter().map(|entry| entry.name).filter(|name| name != ".lock").collect()
    }

    /// The placed worker's check.
    pub(crate) fn check(&self) -> Output {
        let worker = self.dir.join("current/bin/superfluid-worker-mlx");
        Command::new(worker).arg("check").output().expect("it runs")
    }
}

/// What a child process does: the install its environment names.
#[test]
#[ignore = "run by other tests as a child process"]
fn child_installs() {
    let var = |name| std::env::var(name).expect("run as a child process only");
    let plan: Plan = serde_json::from_slice(&fs::read(var(PLAN)).expect("a plan")).expect("a plan");
    let settings = Settings { adapter: Some(var("SUPERFLUID_IT_ADAPTER")), ..crate::world::settings() };
    let mut machine = Machine::install(vec![plan], settings).expect("plans");
    let dir = var("SUPERFLUID_IT_DIR");
    let result = install::run(&mut machine, RuntimeId::Mlx, Path::new(&dir), &mut Heard::default());
    if let Err(refusal) = result {
        eprintln!("refused: {}: {}\nhints: {:?}", refusal.code, refusal.message, refusal.hints);
        std::process::exit(1);
    }
}

/// The plan with another index.
pub(crate) fn with_index(mut plan: Plan, index: Index) -> Plan {
    plan.packages.as_mut().expect("an environment").index = index;
    plan
}
