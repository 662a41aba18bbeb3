//! Updates and repairs carried out: what becomes of the default, the pin and the old install.

use super::disk::{Disk, Node, drive, drive_well, report};
use super::{plan, settings};
use superfluid_core::install::InstallName;
use superfluid_core::install::machine::{Action, Fault, FaultKind, Machine, Outcome, Purpose, Run, Settings};

fn machine(version: &str, backend: &str, purpose: Purpose) -> Machine {
    Machine::install(vec![plan(version, backend)], Settings { purpose, ..settings("1-a") }).expect("plans")
}

fn disk(installs: &[(&str, &str)]) -> Disk {
    let mut disk = Disk::default();
    for (version, backend) in installs {
        drive_well(machine(version, backend, Purpose::Install), &mut disk).result.expect("it installs");
    }
    disk
}

fn pin(disk: &mut Disk, name: &str) {
    drive_well(Machine::pin(InstallName::new(name).expect("a name")), disk).result.expect("it pins");
}

fn defaults(disk: &Disk) -> (Option<&Node>, Option<&Node>) {
    (disk.nodes.get("current"), disk.nodes.get("pinned"))
}

#[test]
fn row_b4_an_update_moves_the_default_and_keeps_the_old_install() {
    let mut disk = disk(&[("b1", "cuda")]);
    let old = disk.install("b1-cuda");
    let finished = drive_well(machine("b2", "cuda", Purpose::Update), &mut disk).result.expect("it updates");
    assert_eq!((finished.current, finished.pinned), (finished.installed, false));
    assert_eq!(defaults(&disk), (Some(&Node::Link("b2-cuda".into())), None));
    assert_eq!(disk.install("b1-cuda"), old);
}

#[test]
fn row_b4_a_pin_moves_to_the_updated_install() {
    let mut disk = disk(&[("b1", "cpu"), ("b1", "cuda")]);
    pin(&mut disk, "b1-cpu");
    let finished = drive_well(machine("b2", "cpu", Purpose::Update), &mut disk).result.expect("it updates");
    assert!(finished.pinned);
    let moved = (Some(&Node::Link("b2-cpu".into())), Some(&Node::File("b2-cpu\n".into())));
    assert_eq!(defaults(&disk), moved);
    // It is there already: only the pin is left to move.
    pin(&mut disk, "b1-cpu");
    let done = drive_well(machine("b2", "cpu", Purpose::Update), &mut disk);
    assert!(done.result.expect("it updates").already);
    assert!(!done.effects.iter().any(|effect| matches!(effect.action, Action::Fetch { .. })));
    assert_eq!(defaults(&disk), moved);
}

#[test]
fn case_i13_an_update_that_fails_anywhere_leaves_pin_default_and_installs() {
    let mut start = disk(&[("b1", "cpu"), ("b1", "cuda")]);
    pin(&mut start, "b1-cpu");
    let all = |_: &str| report(&["cpu", "cuda"]);
    let effects = drive_well(machine("b2", "cpu", Purpose::Update), &mut start.clone()).effects;
    let last = effects.iter().rposition(|effect| matches!(effect.action, Action::SyncNames)).expect("synced");
    for (failing, effect) in effects.iter().enumerate().take(last + 1).skip(1) {
        let mut disk = start.clone();
        let mut count = 0;
        let done = drive(machine("b2", "cpu", Purpose::Update), &mut disk, &all, &mut |_| {
            count += 1;
            let fault = Fault::new(FaultKind::NoSpace, "x: no space left on device");
            (count == failing + 1).then_some(Outcome::Failed(fault))
        });
        done.result.expect_err("an effect failed");
        assert_eq!(disk, start, "after {:?} failed", effect.action);
    }
}

#[test]
fn row_b5_a_repair_puts_a_whole_install_in_a_broken_ones_place() {
    let whole = disk(&[("b1", "cuda")]);
    let mut broken = whole.clone();
    broken.nodes.remove("b1-cuda/lib/libllama.so").expect("it was there");
    let finished = drive_well(machine("b1", "cuda", Purpose::Repair), &mut broken).result.expect("repaired");
    assert!(!finished.already);
    assert_eq!(broken, whole);
}

#[test]
fn row_b5_a_repair_that_fails_puts_the_old_one_back() {
    let mut start = disk(&[("b1", "cuda")]);
    start.nodes.insert("b1-cuda/mine".into(), Node::File("x".into()));
    let fails =
        |_: &str| Run::Exited { code: Some(1), signal: None, stdout: String::new(), stderr: "no".into() };
    let mut disk = start.clone();
    drive(machine("b1", "cuda", Purpose::Repair), &mut disk, &fails, &mut |_| None)
        .result
        .expect_err("the check fails");
    assert_eq!(disk, start);
    // It fails where the old one has to make room, and after it was set aside.
    let all = |_: &str| report(&["cuda"]);
    for plain in [false, true] {
        start.plain = plain;
        let mut disk = start.clone();
        let done = drive(machine("b1", "cuda", Purpose::Repair), &mut disk, &all, &mut |effect| {
            let place = match &effect.action {
                Action::Exchange { .. } => !plain,
                Action::Rename { to, .. } => to == "b1-cuda" && effect.inverse.is_some(),
                _ => false,
            };
            place.then(|| Outcome::Failed(Fault::new(FaultKind::Other, "x: an input/output error")))
        });
        done.result.expect_err("the new one can't be placed");
        assert_eq!(disk, start);
    }
}
