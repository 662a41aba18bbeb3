//! An install with a Python environment: its steps, and cut or failed after any of them.

use super::disk::{Disk, Done, Node, digest, drive, report_of};
use super::settings;
use crate::install::mlx::{mac, recipe};
use superfluid_core::Instant;
use superfluid_core::install::machine::{
    Action, Event, Fault, FaultKind, Machine, Outcome, Purpose, Run, Settings,
};
use superfluid_core::install::{Manifest, Plan, Request, Source, plan};
use superfluid_core::runtime::RuntimeId;

const NAME: &str = "0.32.2-metal";

/// What a Mac plans, its archive a file of the model's.
fn planned() -> Plan {
    let planning = plan::plan(&Request::new(RuntimeId::Mlx), &mac(), &recipe()).expect("a plan");
    let mut plan = planning.plans.into_iter().next().expect("one");
    let asset = &mut plan.assets[0];
    asset.source = Source::File { path: format!("/archives/{}", asset.name) };
    (asset.sha256, asset.size) = (Some(digest(&asset.name)), None);
    plan
}

fn settings_of(nonce: &str) -> Settings {
    Settings { adapter: Some("/opt/superfluid-worker-mlx".into()), ..settings(nonce) }
}

pub(super) fn machine(nonce: &str) -> Machine {
    Machine::install(vec![planned()], settings_of(nonce)).expect("plans")
}

/// A world where nothing fails.
pub(super) fn world(_: &str) -> Run {
    report_of("mlx", &["metal"])
}

fn well(machine: Machine, disk: &mut Disk) -> Done {
    drive(machine, disk, &world, &mut |_| None)
}

#[test]
fn an_environment_is_made_between_unpacking_and_the_check() {
    let mut disk = Disk::default();
    let done = well(machine("1-a"), &mut disk);
    assert_eq!(done.result.expect("it installs").installed.expect("placed").as_str(), NAME);
    let steps = done.effects.iter().filter_map(|effect| match &effect.action {
        Action::Unpack { .. } => Some("unpack"),
        Action::Run { .. } => Some("pip"),
        Action::CopyProgram { .. } => Some("worker"),
        Action::Check { .. } => Some("check"),
        Action::Inventory { .. } => Some("inventory"),
        Action::Rename { .. } => Some("place"),
        _ => None,
    });
    assert_eq!(steps.collect::<Vec<_>>(), ["unpack", "pip", "worker", "check", "inventory", "place"]);
    let there = |path: &str| disk.nodes.get(&format!("{NAME}/{path}"));
    assert_eq!(there("python/bin/python3"), Some(&Node::Link("python3.12".into())));
    assert!(there("python/lib/python3.12/os.py").is_some() && there("env/mlx_lm.py").is_some());
    assert!(there("bin/superfluid-worker-mlx").is_some());
    assert_eq!(there("env/bin"), None, "launchers name a place that is gone");
    let Some(Node::File(text)) = there("runtime.json") else { panic!("a manifest") };
    let manifest = Manifest::parse(text, "runtime.json").expect("it reads");
    assert_eq!(manifest.sources.len(), 35);
    assert!(manifest.sources.iter().any(|source| source.name.starts_with("mlx_metal-0.32.2-")));
    assert!(manifest.files.iter().any(|file| file.path == "env/mlx.py"));
    let packages = done.events.iter().find_map(|event| match event {
        Event::Packages { count, bytes, .. } => Some((*count, *bytes)),
        _ => None,
    });
    assert_eq!(packages, Some((34, 85_344_590)));
    assert!(disk.nodes.keys().all(|path| !path.starts_with('.')), "left behind: {:?}", disk.nodes.keys());

    // Asked for again it is there; repaired it is made anew.
    let again = well(machine("1-b"), &mut disk);
    assert!(again.result.expect("it is there").already);
    let settings = Settings { purpose: Purpose::Repair, ..settings_of("1-c") };
    let repair = well(Machine::install(vec![planned()], settings).expect("plans"), &mut disk);
    assert!(repair.effects.iter().any(|effect| matches!(effect.action, Action::Run { .. })));
    // With one package of another digest it is another install.
    let mut changed = planned();
    changed.packages.as_mut().expect("an environment").wheels[3].sha256 = "c".repeat(64);
    let changed = well(Machine::install(vec![changed], settings_of("1-d")).expect("plans"), &mut disk);
    assert!(!changed.result.expect("it installs").already);
}

#[test]
fn without_an_adapter_nothing_is_fetched() {
    let settings = Settings { adapter: None, ..settings_of("1-a") };
    let mut disk = Disk::default();
    let done = well(Machine::install(vec![planned()], settings).expect("plans"), &mut disk);
    let refusal = done.result.expect_err("nothing brings the worker");
    assert_eq!(refusal.code, "no_adapter");
    assert!(refusal.hints[0].contains("superfluid-worker-mlx"), "{:?}", refusal.hints);
    assert!(!done.effects.iter().any(|effect| matches!(effect.action, Action::Fetch { .. })));
    assert!(disk.nodes.is_empty());
}

/// An older install, which is the default and must not suffer.
fn before() -> Disk {
    let mut disk = Disk::default();
    let mut old = planned();
    old.name = superfluid_core::install::InstallName::of("0.31.0", "metal").expect("a name");
    old.version = "0.31.0".into();
    well(Machine::install(vec![old], settings_of("0-a")).expect("plans"), &mut disk)
        .result
        .expect("it installs");
    disk
}

#[test]
fn a_run_cut_after_any_effect_leaves_one_whole_install_or_none() {
    let start = before();
    let mut whole = start.clone();
    let effects = well(machine("1-a"), &mut whole).effects.len();
    assert!(effects > 20);
    for cut in 0..effects {
        let mut disk = start.clone();
        let mut cut_short = machine("1-a");
        for count in 0..cut {
            while cut_short.poll_event().is_some() {}
            let effect = cut_short.poll_effect().expect("it goes on");
            let outcome = disk.perform(&effect.action, &world);
            cut_short.handle_done(effect.id, outcome, Instant::from_millis(count as u64)).expect("it fits");
        }
        disk.locked = false;
        let there = disk.install(NAME);
        assert!(there.is_empty() || there == whole.install(NAME), "after {cut} effects: half an install");
        assert_eq!(disk.install("0.31.0-metal"), start.install("0.31.0-metal"));
        well(machine("2-b"), &mut disk).result.unwrap_or_else(|refusal| panic!("after {cut}: {refusal:?}"));
        assert_eq!(disk.visible(), whole.visible(), "after {cut} effects");
        assert!(disk.nodes.keys().all(|path| !path.starts_with('.')), "left behind: {:?}", disk.nodes.keys());
    }
}

#[test]
fn a_run_that_fails_at_any_effect_leaves_everything_as_it_was() {
    let start = before();
    let effects = well(machine("1-a"), &mut start.clone()).effects.len();
    let mut failed = 0;
    for at in 0..effects {
        let mut disk = start.clone();
        let shadow = std::cell::RefCell::new(&mut disk);
        let mut count = 0;
        let mut broke = None;
        let done = drive(machine("1-a"), &mut Disk::default(), &world, &mut |effect| {
            let mut disk = shadow.borrow_mut();
            let outcome = disk.perform(&effect.action, &world);
            count += 1;
            // What is left to tidy once an install is placed is only warned of.
            let tidying = matches!(&effect.action, Action::Remove { path } if !path.ends_with("env/bin"));
            if count - 1 != at || tidying || effect.action == Action::Unlock {
                return Some(outcome);
            }
            broke = Some(effect.action.clone());
            if let Some(inverse) = effect.inverse.as_ref().filter(|_| effect.action.is_atomic()) {
                disk.perform(inverse, &world);
            }
            Some(Outcome::Failed(Fault::new(FaultKind::NoSpace, "x: no space left on device")))
        });
        let Some(broke) = broke else { continue };
        failed += 1;
        assert!(done.result.is_err(), "{broke:?}");
        assert_eq!(disk.visible(), start.visible(), "failed at {broke:?}");
        assert!(
            disk.nodes.keys().all(|path| !path.starts_with('.')),
            "left: {:?} at {broke:?}",
            disk.nodes.keys()
        );
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn a_cancel_while_pip_runs_undoes_all_of_it() {
    let start = before();
    let mut disk = start.clone();
    let mut machine = machine("1-a");
    while let Some(effect) = machine.poll_effect() {
        let outcome = disk.perform(&effect.action, &world);
        if matches!(effect.action, Action::Run { .. }) {
            machine.cancel();
        }
        machine.handle_done(effect.id, outcome, Instant::ORIGIN).expect("it fits");
        while machine.poll_event().is_some() {}
    }
    assert_eq!(machine.result().expect("ended").as_ref().expect_err("given up").code, "cancelled");
    assert_eq!(disk, start);
}
