//! One script through three drivers: the blocking one, the tokio one, and a bare loop over the
//! machine. Each tells the same, and leaves the same.

use flate2::write::GzEncoder;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use superfluid_core::Instant;
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Event, Finished, Machine, Purpose, Settings};
use superfluid_core::install::{InstallName, Plan, PlannedAsset, Source, Trust};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::Cancel;
use superfluid_io_blocking::install::{self, Installer, Reporter};

const ID: RuntimeId = RuntimeId::Llamacpp;

/// A step of the script.
#[derive(Clone, Copy)]
enum Step {
    /// Install this version for this backend from this archive.
    Install(&'static str, &'static str, &'static str),
    /// The first of these backends that has a device.
    First(&'static str, [&'static str; 2]),
    /// From an archive with another digest.
    Wrong,
    Pin(&'static str),
    Unpin,
    Remove(Option<&'static str>),
}

const SCRIPT: [Step; 12] = [
    Step::Remove(None),
    Step::Install("b1", "cpu", "good.tar.gz"),
    Step::Install("b1", "cpu", "good.tar.gz"),
    Step::Wrong,
    Step::Install("b2", "cpu", "hostile.tar.gz"),
    Step::Install("b2", "cpu", "gone.tar.gz"),
    Step::First("b3", ["vulkan", "cpu"]),
    Step::Pin("b1-cpu"),
    Step::Pin("b9-cpu"),
    Step::Unpin,
    Step::Remove(Some("b3-cpu")),
    Step::Remove(None),
];

fn plan(archives: &Path, version: &str, backend: &str, archive: &str) -> Plan {
    Plan {
        runtime: ID.as_str().into(),
        name: InstallName::of(version, backend).expect("a name"),
        version: version.into(),
        backend: backend.into(),
        assets: vec![PlannedAsset {
            name: archive.into(),
            source: Source::File { path: archives.join(archive).display().to_string() },
            size: None,
            sha256: None,
            trust: None,
        }],
        packages: None,
        reason: "the script".into(),
    }
}

/// The machine of a step; `nonce` is the same for every driver.
fn machine(step: Step, archives: &Path, nonce: &str) -> Machine {
    let settings = Settings {
        nonce: nonce.into(),
        adapter: None,
        superfluid: "0".into(),
        installed_at: 1_700_000_000,
        purpose: Purpose::Install,
    };
    let name = |text: &str| InstallName::new(text).expect("a name");
    let machine = match step {
        Step::Install(version, backend, archive) => {
            Machine::install(vec![plan(archives, version, backend, archive)], settings)
        }
        Step::First(version, backends) => {
            let plans = backends.map(|backend| plan(archives, version, backend, "good.tar.gz"));
            Machine::install(plans.into(), settings)
        }
        Step::Wrong => {
            let mut plan = plan(archives, "b1", "cpu", "good.tar.gz");
            plan.assets[0].sha256 = Some("0".repeat(64));
            plan.assets[0].trust = Some(Trust::User);
            Machine::install(vec![plan], settings)
        }
        Step::Pin(install) => Ok(Machine::pin(name(install))),
        Step::Unpin => Ok(Machine::unpin()),
        Step::Remove(install) => Machine::remove(install.map(name), nonce),
    };
    machine.expect("it begins")
}

#[derive(Default)]
struct Log(Vec<Event>);

impl Reporter for Log {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

type Driver = fn(&mut Machine, &Path) -> (Result<Finished, Refusal>, Vec<Event>);

fn blocking(machine: &mut Machine, dir: &Path) -> (Result<Finished, Refusal>, Vec<Event>) {
    let mut log = Log::default();
    (install::run(machine, ID, dir, &mut log), log.0)
}

fn tokio(machine: &mut Machine, dir: &Path) -> (Result<Finished, Refusal>, Vec<Event>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut log = Vec::new();
    let heard = |event: &Event| log.push(event.clone());
    let result =
        runtime.block_on(superfluid_io_tokio::install::run(machine, ID, dir, Cancel::default(), heard));
    (result, log)
}

/// As an embedder with a loop of its own would.
fn bare(machine: &mut Machine, dir: &Path) -> (Result<Finished, Refusal>, Vec<Event>) {
    let mut installer = Installer::new(ID, dir, Cancel::default());
    let mut log = Vec::new();
    while let Some(effect) = machine.poll_effect() {
        let outcome = installer.perform(&effect.action, &mut |_| {});
        machine.handle_done(effect.id, outcome, Instant::default()).expect("the outcome fits");
        machine.check_invariants().expect("invariants hold");
        log.extend(std::iter::from_fn(|| machine.poll_event()));
    }
    (machine.result().expect("it has ended").clone(), log)
}

/// Everything told and everything left, without what depends on where and when.
fn run(driver: Driver, archives: &Path) -> Vec<String> {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("runtimes/llamacpp");
    let mut told = Vec::new();
    for (index, step) in SCRIPT.into_iter().enumerate() {
        let mut machine = machine(step, archives, &format!("1-{index}"));
        let (result, events) = driver(&mut machine, &dir);
        told.push(format!("step {index}: {result:?}"));
        // How often progress is told is the driver's own pace.
        let events = events.iter().filter(|event| !matches!(event, Event::Progress { .. }));
        told.extend(events.map(|event| serde_json::to_string(event).expect("an event is data")));
        told.extend(tree(&dir, Path::new("")).into_iter().map(|path| format!("  {path}")));
    }
    let place = home.path().display().to_string();
    told.iter().map(|line| line.replace(&place, "[home]")).collect()
}

fn tree(root: &Path, below: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let path = below.join(entry.file_name());
        let kind = entry.file_type().expect("a kind");
        let held = match () {
            () if kind.is_dir() => String::new(),
            () if kind.is_symlink() => format!("-> {:?}", std::fs::read_link(entry.path()).expect("a link")),
            () => format!("{:?}", std::fs::read(entry.path()).expect("a file")),
        };
        all.push(format!("{}: {held}", path.display()));
        if kind.is_dir() {
            all.extend(tree(root, &path));
        }
    }
    all.sort();
    all
}

/// An install whose worker finds a CPU, with links and a folder in it.
fn pack(archives: &Path) -> PathBuf {
    let report = r#"{"runtime":"llamacpp","worker":"0","protocol":1,"version":"b","formats":["gguf"],"devices":[{"backend":"cpu","name":"D","kind":"cpu","memory_total":0,"memory_free":0}],"capabilities":{}}"#;
    let source = archives.join("sf");
    let worker = source.join("bin/superfluid-worker-llamacpp");
    std::fs::create_dir_all(source.join("bin"))
        .and_then(|()| std::fs::create_dir_all(source.join("lib")))
        .expect("folders");
    std::fs::write(&worker, format!("#!/bin/sh\necho '{report}'\n")).expect("a worker");
    std::fs::set_permissions(&worker, PermissionsExt::from_mode(0o755)).expect("it may run");
    std::fs::write(source.join("lib/libok.so.1"), "library").expect("a library");
    std::os::unix::fs::symlink("libok.so.1", source.join("lib/libok.so")).expect("a link");
    source
}

fn archive(archives: &Path, name: &str, fill: impl FnOnce(&mut tar::Builder<GzEncoder<std::fs::File>>)) {
    let file = std::fs::File::create(archives.join(name)).expect("an archive");
    let mut tar = tar::Builder::new(GzEncoder::new(file, flate2::Compression::fast()));
    tar.follow_symlinks(false);
    fill(&mut tar);
    tar.into_inner().and_then(GzEncoder::finish).expect("it is written");
}

#[test]
fn the_three_drivers_tell_and_leave_the_same() {
    let temp = tempfile::tempdir().expect("a folder");
    let source = pack(temp.path());
    archive(temp.path(), "good.tar.gz", |tar| tar.append_dir_all("sf", &source).expect("it is added"));
    archive(temp.path(), "hostile.tar.gz", |tar| {
        tar.append_dir_all("sf", &source).expect("it is added");
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, "sf/lib/out", "../../../out").expect("it is added");
    });
    let first = run(blocking, temp.path());
    assert!(first.iter().any(|line| line.contains("\"event\":\"next_plan\"")), "{first:#?}");
    assert!(first.iter().filter(|line| line.contains("\"event\":\"failed\"")).count() >= 4, "{first:#?}");
    for driver in [tokio as Driver, bare] {
        let other = run(driver, temp.path());
        for (one, two) in first.iter().zip(&other) {
            assert_eq!(one, two);
        }
        assert_eq!(first.len(), other.len());
    }
}

#[test]
fn what_is_given_up_is_undone_by_each() {
    let temp = tempfile::tempdir().expect("a folder");
    let source = pack(temp.path());
    archive(temp.path(), "good.tar.gz", |tar| tar.append_dir_all("sf", &source).expect("it is added"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for blocking in [true, false] {
        let dir = temp.path().join(format!("home-{blocking}"));
        let mut machine = machine(Step::Install("b1", "cpu", "good.tar.gz"), temp.path(), "1-a");
        let cancel = Cancel::default();
        let stops = |event: &Event| {
            if matches!(event, Event::Unpacking { .. }) {
                cancel.now();
            }
        };
        let result = if blocking {
            install::run(&mut machine, ID, &dir, &mut Stops(&cancel))
        } else {
            runtime.block_on(superfluid_io_tokio::install::run(&mut machine, ID, &dir, cancel.clone(), stops))
        };
        assert_eq!(result.expect_err("given up").code, "cancelled");
        assert_eq!(tree(&dir, Path::new("")), [".lock: []"]);
    }
}

/// Gives up as soon as files are written.
struct Stops<'a>(&'a Cancel);

impl Reporter for Stops<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Unpacking { .. }) {
            self.0.now();
        }
    }

    fn cancel(&self) -> Cancel {
        self.0.clone()
    }
}
