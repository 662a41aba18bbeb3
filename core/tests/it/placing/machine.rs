//! What the machine does with plans, and what it tells.

use super::disk::{Disk, Node, digest, drive, drive_well, report};
use super::{asset, plan, settings};
use superfluid_core::install::machine::{Action, Event, Fault, FaultKind, Machine, Outcome, Run};
use superfluid_core::install::{InstallName, Source};
use superfluid_core::machine::{EffectId, Misuse};
use superfluid_core::{Instant, Refusal};

fn three() -> Machine {
    let plans = ["cuda", "vulkan", "cpu"].map(|backend| plan("b2", backend));
    Machine::install(plans.to_vec(), settings("1-a")).expect("plans")
}

fn name(text: &str) -> InstallName {
    InstallName::new(text).expect("a name")
}

fn planned(events: &[Event]) -> Vec<&str> {
    let names = events.iter().filter_map(|event| match event {
        Event::Planned { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

#[test]
fn case_i09_a_failed_fetch_stops_and_does_not_walk_down_to_cpu() {
    for kind in [FaultKind::Network, FaultKind::Certificate, FaultKind::Status(404), FaultKind::TooLarge] {
        let mut disk = Disk::default();
        let done = drive(three(), &mut disk, &|_| report(&["cpu"]), &mut |effect| {
            let fetch = matches!(effect.action, Action::Fetch { .. });
            fetch.then(|| Outcome::Failed(Fault::new(kind, "connection reset")))
        });
        assert!(done.result.is_err());
        assert_eq!(planned(&done.events), ["b2-cuda"], "{kind:?}");
        assert_eq!(disk, Disk::default());
    }
}

#[test]
fn case_i09_a_wrong_digest_stops_and_nothing_is_unpacked() {
    let mut disk = Disk::default();
    let done = drive(three(), &mut disk, &|_| report(&["cpu"]), &mut |effect| match &effect.action {
        Action::Fetch { .. } => Some(Outcome::Fetched { bytes: 9, sha256: "0".repeat(64) }),
        Action::Survey { .. } | Action::Unpack { .. } => panic!("it went on with a wrong digest"),
        _ => None,
    });
    let refusal = done.result.expect_err("a wrong digest");
    assert_eq!(refusal.code, "wrong_sha256");
    // case I-17: both digests are named.
    assert!(refusal.message.contains(&"0".repeat(64)) && refusal.message.contains(&digest("b2-cuda.tar.gz")));
    assert_eq!(disk, Disk::default());
}

#[test]
fn case_b13_no_device_of_the_planned_backend_means_the_next_plan() {
    let mut disk = Disk::default();
    let done = drive(three(), &mut disk, &|_| report(&["cpu"]), &mut |_| None);
    assert_eq!(planned(&done.events), ["b2-cuda", "b2-vulkan", "b2-cpu"]);
    let finished = done.result.expect("cpu stands");
    assert_eq!(finished.installed, Some(name("b2-cpu")));
    assert_eq!(disk.nodes.get("current"), Some(&Node::Link("b2-cpu".into())));
    assert!(disk.install("b2-cuda").is_empty() && disk.nodes.keys().all(|path| !path.starts_with('.')));
}

#[test]
fn case_b10_a_worker_that_does_not_run_stops_at_the_first_plan() {
    let mut disk = Disk::default();
    let glibc = |_: &str| Run::Exited {
        code: Some(1),
        signal: None,
        stdout: String::new(),
        stderr: "worker: /lib/libc.so.6: version `GLIBC_2.38' not found (required by lib)\n".into(),
    };
    let done = drive(three(), &mut disk, &glibc, &mut |_| None);
    let refusal = done.result.expect_err("it does not run");
    assert!(refusal.message.contains("version `GLIBC_2.38' not found"), "{}", refusal.message);
    assert_eq!(planned(&done.events), ["b2-cuda"]);
    assert_eq!(disk, Disk::default());
}

#[test]
fn no_device_at_all_names_every_plan_tried() {
    let mut disk = Disk::default();
    let done = drive(three(), &mut disk, &|_| report(&[]), &mut |_| None);
    let refusal = done.result.expect_err("nothing stands");
    assert_eq!(refusal.code, "no_device");
    for name in ["b2-cuda", "b2-vulkan", "b2-cpu"] {
        assert!(refusal.message.contains(name), "{}", refusal.message);
    }
    assert_eq!(disk, Disk::default());
}

#[test]
fn the_same_install_again_fetches_nothing_and_repairs_the_default() {
    let mut disk = Disk::default();
    drive_well(three(), &mut disk).result.expect("it installs");
    disk.nodes.remove("current");
    let done = drive_well(three(), &mut disk);
    assert!(done.result.expect("it is there").already);
    assert!(!done.effects.iter().any(|effect| matches!(effect.action, Action::Fetch { .. })));
    assert_eq!(disk.nodes.get("current"), Some(&Node::Link("b2-cuda".into())));
}

#[test]
fn an_archive_nobody_vouched_for_is_recognised_by_its_own_digest() {
    let unchecked = || {
        let mut plan = plan("b2", "cpu");
        plan.assets[0].sha256 = None;
        Machine::install(vec![plan], settings("1-a")).expect("plans")
    };
    let mut disk = Disk::default();
    drive_well(unchecked(), &mut disk).result.expect("it installs");
    let before = disk.clone();
    assert!(drive_well(unchecked(), &mut disk).result.expect("it is there").already);
    assert_eq!(disk, before);
}

#[test]
fn case_w05_a_link_where_the_install_goes_is_replaced_itself() {
    let mut disk = Disk::default();
    disk.nodes.insert("b2-cuda".into(), Node::Link("/tmp/else".into()));
    let done = drive_well(three(), &mut disk);
    done.result.expect("it installs");
    assert_eq!(disk.nodes.get("b2-cuda"), Some(&Node::Dir));
    let through = |effect: &superfluid_core::install::machine::Effect| matches!(&effect.action, Action::Write { path, .. } if path.starts_with("b2-cuda"));
    assert!(!done.effects.iter().any(through));
}

#[test]
fn case_i13_a_build_that_fails_its_check_leaves_the_old_default() {
    let mut disk = Disk::default();
    drive_well(Machine::install(vec![plan("b1", "cpu")], settings("1-a")).expect("plans"), &mut disk)
        .result
        .expect("it installs");
    let before = disk.clone();
    let fails =
        |_: &str| Run::Exited { code: Some(1), signal: None, stdout: String::new(), stderr: "no".into() };
    let machine = Machine::install(vec![plan("b2", "cpu")], settings("1-b")).expect("plans");
    drive(machine, &mut disk, &fails, &mut |_| None).result.expect_err("the check fails");
    assert_eq!(disk, before);
}

#[test]
fn case_i14_an_archive_from_elsewhere_without_a_digest_is_refused_before_any_effect() {
    let refused = |url: &str, sha256: Option<String>| -> Refusal {
        let mut plan = plan("b2", "cpu");
        plan.assets[0].source = Source::Url { url: url.into() };
        plan.assets[0].sha256 = sha256;
        Machine::install(vec![plan], settings("1-a")).expect_err("it is refused")
    };
    assert_eq!(refused("https://127.0.0.1/x.tar.gz", None).code, "no_sha256");
    assert_eq!(refused("http://127.0.0.1/x.tar.gz", Some(digest("x"))).code, "not_https");
}

#[test]
fn a_busy_lock_is_waited_for_and_told() {
    let mut disk = Disk::default();
    let mut first = true;
    let done = drive(three(), &mut disk, &|_| report(&["cuda"]), &mut |effect| {
        let busy = std::mem::take(&mut first) && matches!(effect.action, Action::Lock { wait: false });
        busy.then_some(Outcome::Busy)
    });
    done.result.expect("it installs");
    assert!(done.events.contains(&Event::Waiting));
}

#[test]
fn case_i03_no_locks_on_this_file_system_is_said_and_nothing_is_done() {
    let mut machine = three();
    let effect = machine.poll_effect().expect("a lock");
    let fault = Fault::new(FaultKind::Unsupported, "cannot lock /home/x/.lock: Function not implemented");
    machine.handle_done(effect.id, Outcome::Failed(fault), Instant::ORIGIN).expect("it fits");
    let refusal = machine.result().expect("it ended").clone().expect_err("it failed");
    assert_eq!(refusal.code, "no_lock");
    assert!(refusal.message.contains("/home/x/.lock") && !refusal.hints.is_empty());
    assert!(machine.poll_effect().is_none());
}

#[test]
fn answers_are_taken_once_and_must_fit() {
    let mut machine = three();
    assert_eq!(
        machine.handle_done(EffectId(1), Outcome::Locked, Instant::ORIGIN),
        Err(Misuse::UnknownEffect(1)),
        "not polled yet"
    );
    let effect = machine.poll_effect().expect("a lock");
    let wrong = machine.handle_done(effect.id, Outcome::Done, Instant::ORIGIN);
    assert_eq!(wrong, Err(Misuse::WrongOutcome(effect.id.0)));
    machine.handle_done(effect.id, Outcome::Locked, Instant::ORIGIN).expect("it fits");
    let again = machine.handle_done(effect.id, Outcome::Locked, Instant::ORIGIN);
    assert_eq!(again, Err(Misuse::UnknownEffect(effect.id.0)));
    machine.check_invariants().expect("invariants hold");
}

#[test]
fn cancelling_undoes_what_was_done() {
    let mut disk = Disk::default();
    let mut machine = three();
    for count in 0.. {
        let Some(effect) = machine.poll_effect() else { break };
        if matches!(effect.action, Action::Unpack { .. }) {
            machine.cancel();
        }
        let outcome = disk.perform(&effect.action, &|_| report(&["cuda"]));
        machine.handle_done(effect.id, outcome, Instant::from_millis(count)).expect("it fits");
    }
    let refusal = machine.result().expect("it ended").clone().expect_err("cancelled");
    assert_eq!(refusal.code, "cancelled");
    assert_eq!(disk, Disk::default());
}

#[test]
fn pinning_unpinning_and_removing_move_the_default() {
    let mut disk = Disk::default();
    for backend in ["vulkan", "cpu"] {
        let machine = Machine::install(vec![plan("b2", backend)], settings("1-a")).expect("plans");
        drive_well(machine, &mut disk).result.expect("it installs");
    }
    let current = |disk: &Disk| disk.listing().current;
    assert_eq!(current(&disk).as_deref(), Some("b2-vulkan"), "a GPU backend comes first");
    drive_well(Machine::pin(name("b2-cpu")), &mut disk).result.expect("it pins");
    assert_eq!(
        (current(&disk).as_deref(), disk.listing().pinned.as_deref()),
        (Some("b2-cpu"), Some("b2-cpu\n"))
    );
    drive_well(Machine::unpin(), &mut disk).result.expect("it unpins");
    assert_eq!((current(&disk).as_deref(), disk.listing().pinned), (Some("b2-vulkan"), None));
    let removed = drive_well(Machine::remove(Some(name("b2-vulkan")), "1-b").expect("a nonce"), &mut disk);
    assert_eq!(removed.result.expect("it removes").current, Some(name("b2-cpu")));
    assert_eq!(current(&disk).as_deref(), Some("b2-cpu"));
    drive_well(Machine::remove(None, "1-c").expect("a nonce"), &mut disk).result.expect("it removes");
    assert_eq!(disk, Disk::default());
}

#[test]
fn an_install_that_is_not_there_or_not_whole_is_not_pinned() {
    let mut disk = Disk::default();
    drive_well(Machine::install(vec![plan("b2", "cpu")], settings("1-a")).expect("plans"), &mut disk)
        .result
        .expect("it installs");
    disk.nodes.insert("b3-cpu".into(), Node::Dir);
    let before = disk.clone();
    let missing = drive_well(Machine::pin(name("b9-cpu")), &mut disk).result.expect_err("not there");
    assert_eq!(
        (missing.code.as_str(), missing.hints),
        ("no_such_install", vec!["installed: b2-cpu".to_string()])
    );
    let half = drive_well(Machine::pin(name("b3-cpu")), &mut disk).result.expect_err("not whole");
    assert_eq!(half.code, "broken_install");
    assert_eq!(disk, before);
}

#[test]
fn case_x07_a_nonce_never_becomes_a_path() {
    let mut settings = settings("../x");
    assert_eq!(
        Machine::install(vec![plan("b2", "cpu")], settings.clone()).expect_err("refused").code,
        "bad_nonce"
    );
    settings.nonce.clear();
    assert_eq!(Machine::install(vec![plan("b2", "cpu")], settings).expect_err("refused").code, "bad_nonce");
}

#[test]
fn a_run_is_a_log_that_replays() {
    let mut disk = Disk::default();
    let first = drive_well(three(), &mut disk).effects;
    let json = serde_json::to_string(&first).expect("effects are data");
    let read: Vec<superfluid_core::install::machine::Effect> =
        serde_json::from_str(&json).expect("and come back");
    assert_eq!(read, first);
    assert_eq!(drive_well(three(), &mut Disk::default()).effects, first);
}

#[test]
fn two_archives_are_laid_together_and_both_are_in_the_manifest() {
    let mut plan = plan("b2", "cuda");
    plan.assets.push(asset("cudart.tar.gz"));
    let mut disk = Disk::default();
    let machine = Machine::install(vec![plan], settings("1-a")).expect("plans");
    drive_well(machine, &mut disk).result.expect("it installs");
    let Some(Node::File(manifest)) = disk.nodes.get("b2-cuda/runtime.json") else { panic!("no manifest") };
    assert!(manifest.contains(&digest("b2-cuda.tar.gz")) && manifest.contains(&digest("cudart.tar.gz")));
}
