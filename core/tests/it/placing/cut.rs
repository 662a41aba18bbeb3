//! Cut after any effect, failed at any effect: one whole install or none, and what was there
//! before is as it was.

use super::disk::{Disk, Done, Node, drive, drive_well, report};
use super::{plan, settings};
use proptest::prelude::*;
use superfluid_core::Instant;
use superfluid_core::install::InstallName;
use superfluid_core::install::machine::{Action, Fault, FaultKind, Machine, Outcome, Run, is_torn};

/// What may lie in the directory before.
#[derive(Clone, Debug)]
struct Before {
    other: bool,
    same_version: Option<&'static str>,
    junk: Vec<&'static str>,
    pinned: bool,
    /// The file system can't exchange two names.
    plain: bool,
}

fn before() -> impl Strategy<Value = Before> {
    let same =
        proptest::option::of(prop_oneof![Just("link"), Just("file"), Just("half"), Just("whole, other")]);
    let junk = proptest::sample::subsequence(
        vec![".stage-1-0", ".trash-1-b1-cpu", ".new-current", ".stage-x"],
        0..=4,
    );
    let all = (any::<bool>(), same, junk, any::<bool>(), any::<bool>());
    all.prop_map(|(other, same_version, junk, pinned, plain)| Before {
        other,
        same_version,
        junk,
        pinned: pinned && other,
        plain,
    })
}

fn disk_of(before: &Before) -> Disk {
    let mut disk = Disk { plain: before.plain, ..Disk::default() };
    if before.other {
        let machine = Machine::install(vec![plan("b1", "vulkan")], settings("7-a")).expect("plans");
        drive_well(machine, &mut disk).result.expect("it installs");
    }
    if before.pinned {
        drive_well(Machine::pin(InstallName::of("b1", "vulkan").expect("a name")), &mut disk)
            .result
            .expect("it pins");
    }
    let dir = |disk: &mut Disk, path: &str| disk.nodes.insert(path.into(), Node::Dir);
    match before.same_version {
        Some("link") => drop(disk.nodes.insert("b2-cuda".into(), Node::Link("/tmp/else".into()))),
        Some("file") => drop(disk.nodes.insert("b2-cuda".into(), Node::File("x".into()))),
        Some("half") => {
            dir(&mut disk, "b2-cuda");
            disk.nodes.insert("b2-cuda/half".into(), Node::File("x".into()));
        }
        Some(_) => {
            let mut other = plan("b2", "cuda");
            other.assets = vec![super::asset("another.tar.gz")];
            let machine = Machine::install(vec![other], settings("7-b")).expect("plans");
            drive_well(machine, &mut disk).result.expect("it installs");
        }
        None => {}
    }
    for junk in &before.junk {
        dir(&mut disk, junk);
        disk.nodes.insert(format!("{junk}/x"), Node::File("junk".into()));
    }
    disk
}

fn machine() -> Machine {
    Machine::install(vec![plan("b2", "cuda"), plan("b2", "vulkan")], settings("9-c")).expect("plans")
}

fn all(_: &str) -> Run {
    report(&["cuda", "vulkan"])
}

/// Runs until `cut` effects have been carried out, then stops as a killed process does.
fn run_cut(disk: &mut Disk, mut machine: Machine, cut: usize) -> bool {
    for count in 0.. {
        while machine.poll_event().is_some() {}
        let Some(effect) = machine.poll_effect() else { return false };
        if count == cut {
            break;
        }
        let outcome = disk.perform(&effect.action, &all);
        machine.handle_done(effect.id, outcome, Instant::from_millis(count as u64)).expect("it fits");
    }
    // The system gives a dead process's lock back.
    disk.locked = false;
    true
}

/// The finished install's files, whatever was there before.
fn whole() -> Disk {
    let mut disk = Disk::default();
    drive_well(machine(), &mut disk).result.expect("it installs");
    disk
}

fn untouched(disk: &Disk, start: &Disk, name: &str) {
    assert_eq!(disk.install(name), start.install(name), "{name} was touched");
}

proptest! {
    #[test]
    fn a_run_cut_after_any_effect_leaves_one_whole_install_or_none(before in before(), other in 0..4_usize) {
        let start = disk_of(&before);
        let whole = whole().install("b2-cuda");
        for cut in 0.. {
            let mut disk = start.clone();
            if !run_cut(&mut disk, machine(), cut) {
                break;
            }
            untouched(&disk, &start, "b1-vulkan");
            untouched(&disk, &start, "pinned");
            let stands = |disk: &Disk| {
                let there = disk.install("b2-cuda");
                there == whole || there == start.install("b2-cuda")
            };
            if before.plain {
                // Between two renames the name may be free; whoever reads puts the old one back first.
                if is_torn(&disk.listing()) {
                    drive_well(Machine::mend(), &mut disk).result.expect("it is mended");
                }
                prop_assert!(!is_torn(&disk.listing()));
            }
            prop_assert!(stands(&disk), "after {cut} effects: {:?}", disk.install("b2-cuda"));
            // Any other command finds it so, and leaves it so.
            let mut found = disk.clone();
            let name = InstallName::of("b1", "vulkan").expect("a name");
            let command = match other {
                0 => Machine::pin(name),
                1 => Machine::unpin(),
                2 => Machine::remove(Some(name), "5-d").expect("a nonce"),
                _ => Machine::install(vec![plan("b3", "cpu")], settings("8-e")).expect("plans"),
            };
            // It may be refused: there is no such install.
            let _ = drive_well(command, &mut found);
            prop_assert!(stands(&found), "after {cut} effects and another command");
            // The next run needs no clean-up, and ends as an undisturbed one.
            let done = drive_well(machine(), &mut disk);
            prop_assert!(done.result.is_ok(), "after {cut} effects: {:?}", done.result);
            prop_assert_eq!(disk.install("b2-cuda"), whole.clone());
            untouched(&disk, &start, "b1-vulkan");
            untouched(&disk, &start, "pinned");
            prop_assert!(disk.nodes.keys().all(|path| !path.starts_with('.')), "left behind: {:?}", disk.nodes.keys());
            let default = if before.pinned { "b1-vulkan" } else { "b2-cuda" };
            prop_assert_eq!(disk.nodes.get("current"), Some(&Node::Link(default.into())));
        }
    }

    #[test]
    fn a_run_that_fails_at_any_effect_leaves_everything_as_it_was(before in before(), partly in any::<bool>()) {
        let start = disk_of(&before);
        let mut effects = drive_well(machine(), &mut start.clone()).effects.len();
        prop_assert!(effects > 15);
        while effects > 0 {
            effects -= 1;
            let mut disk = start.clone();
            let mut failed = None;
            let mut count = 0;
            let Done { result, .. } = {
                let shadow = std::cell::RefCell::new(&mut disk);
                drive_with(&shadow, |disk, effect| {
                    count += 1;
                    let mut outcome = disk.perform(&effect.action, &all);
                    if count - 1 == effects && !matches!(effect.action, Action::Unlock | Action::Check { .. }) {
                        failed = Some(effect.action.clone());
                        // Some failures come after part of the work was done.
                        if !partly || effect.action.is_atomic() {
                            undo_directly(disk, effect);
                        }
                        outcome = Outcome::Failed(Fault::new(FaultKind::NoSpace, "x: no space left on device"));
                    }
                    outcome
                })
            };
            let Some(action) = failed else { continue };
            let harmless = matches!(&action, Action::Remove { .. });
            prop_assert_eq!(result.is_err(), !harmless, "{:?}", action);
            if harmless {
                continue;
            }
            if let Err(refusal) = &result {
                prop_assert!(refusal.message.contains("no space left"), "{}", refusal.message);
            }
            prop_assert_eq!(disk.visible(), start.visible(), "failed at {:?}", action);
        }
    }

    #[test]
    fn removing_is_whole_or_not_at_all(before in before(), everything in any::<bool>()) {
        let start = disk_of(&before);
        let name = InstallName::of("b1", "vulkan").expect("a name");
        let target = (!everything).then_some(name);
        let make = || Machine::remove(target.clone(), "5-d").expect("a nonce");
        if drive_well(make(), &mut start.clone()).result.is_err() {
            prop_assert!(!before.other && !everything);
            return Ok(());
        }
        for cut in 0.. {
            let mut disk = start.clone();
            if !run_cut(&mut disk, make(), cut) {
                break;
            }
            for install in ["b1-vulkan", "b2-cuda"] {
                let there = disk.install(install);
                prop_assert!(there.is_empty() || there == start.install(install), "half of {install} is left");
            }
            // Whatever is the default is there whole.
            if let Some(Node::Link(target)) = disk.nodes.get("current") {
                prop_assert!(disk.nodes.contains_key(target), "after {cut}: current leads to {target}, which is gone");
            }
        }
    }
}

/// A failed atomic effect has changed nothing.
fn undo_directly(disk: &mut Disk, effect: &superfluid_core::install::machine::Effect) {
    if let Some(inverse) = &effect.inverse {
        disk.perform(inverse, &all);
    }
}

/// Drives the install with a world of one's own.
fn drive_with(
    disk: &std::cell::RefCell<&mut Disk>,
    mut world: impl FnMut(&mut Disk, &superfluid_core::install::machine::Effect) -> Outcome,
) -> Done {
    let mut scratch = Disk::default();
    drive(machine(), &mut scratch, &all, &mut |effect| Some(world(&mut disk.borrow_mut(), effect)))
}
