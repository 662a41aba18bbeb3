//! What is in use stays: leases against `runtime remove`.

use super::disk::{Disk, Node, drive, drive_well, report};
use super::{plan, settings};
use superfluid_core::install::machine::{Action, Machine};
use superfluid_core::install::{InstallName, Lease};

fn name(text: &str) -> InstallName {
    InstallName::new(text).expect("a name")
}

fn lease(install: &str) -> Lease {
    Lease { install: Some(name(install)), pid: 42, what: "superfluid serve m.gguf".into() }
}

/// b1-cpu and b2-cpu, the second the default.
fn two() -> Disk {
    let mut disk = Disk::default();
    for version in ["b1", "b2"] {
        let machine = Machine::install(vec![plan(version, "cpu")], settings("1-a")).expect("plans");
        drive_well(machine, &mut disk).result.expect("it installs");
    }
    disk
}

#[test]
fn an_install_in_use_is_not_removed_and_its_user_is_named() {
    let mut disk = two();
    disk.leases = vec![lease("b1-cpu")];
    let before = disk.clone();
    for asked in [Some(name("b1-cpu")), None] {
        let machine = Machine::remove(asked, "1-b").expect("a nonce");
        let refusal = drive_well(machine, &mut disk).result.expect_err("it is in use");
        assert_eq!(refusal.code, "install_in_use");
        assert_eq!(refusal.message, "b1-cpu is in use by process 42 (superfluid serve m.gguf)");
        assert_eq!(
            refusal.hints,
            ["stop it first (kill 42), then remove again; nothing was removed".to_string()]
        );
        assert_eq!(disk, before);
    }
    let other = Machine::remove(Some(name("b2-cpu")), "1-c").expect("a nonce");
    let finished = drive_well(other, &mut disk).result.expect("nobody uses it");
    assert_eq!(finished.current, Some(name("b1-cpu")));
}

#[test]
fn a_lease_taken_while_it_is_removed_brings_it_back() {
    let mut disk = two();
    let before = disk.clone();
    let mut listings = 0;
    let machine = Machine::remove(Some(name("b2-cpu")), "1-b").expect("a nonce");
    let done = drive(machine, &mut disk.clone(), &|_| report(&["cpu"]), &mut |_| None);
    assert!(done.result.is_ok(), "nobody uses it here");
    let machine = Machine::remove(Some(name("b2-cpu")), "1-b").expect("a nonce");
    let mut late = disk.clone();
    late.leases = vec![lease("b2-cpu")];
    let late = late.listing().leases;
    let done = drive(machine, &mut disk, &|_| report(&["cpu"]), &mut |effect| {
        listings += usize::from(effect.action == Action::List);
        let seen = effect.action == Action::List && listings == 2;
        seen.then(|| {
            superfluid_core::install::machine::Outcome::Listing(superfluid_core::install::machine::Listing {
                leases: late.clone(),
                ..Default::default()
            })
        })
    });
    assert_eq!(done.result.expect_err("it is in use").code, "install_in_use");
    assert_eq!(disk, before);
}

#[test]
fn a_lease_nobody_holds_is_swept_and_keeps_nothing() {
    let mut disk = two();
    disk.nodes.insert(".lease-9-a".into(), Node::File("{}".into()));
    disk.stale = vec![".lease-9-a".into(), "b1-cpu".into()];
    let machine = Machine::remove(Some(name("b2-cpu")), "1-b").expect("a nonce");
    drive_well(machine, &mut disk).result.expect("nobody uses it");
    assert!(!disk.nodes.contains_key(".lease-9-a"));
    assert!(disk.nodes.contains_key("b1-cpu"), "only leases are swept as leases");
}

#[test]
fn a_lease_reads_back_and_one_that_is_held_unread_keeps_everything() {
    let mine = lease("b1-cpu");
    assert_eq!(Lease::parse(&mine.to_text()), mine);
    for text in ["", "{", r#"{"install":"../x","pid":1,"what":""}"#, "null"] {
        let held = Lease::parse(text);
        assert!(held.keeps(&name("b1-cpu")) && held.keeps(&name("b2-cpu")), "{text}");
    }
    let told = Lease { what: "x\u{1b}[2J".into(), ..mine }.holder();
    assert!(!told.contains('\u{1b}'), "{told}");
}

#[test]
fn the_last_one_goes_with_its_link_and_its_pin_however_they_stand() {
    for (current, pinned) in [
        (Some(Node::Link("b1-cpu".into())), Some("b1-cpu\n")),
        (Some(Node::Link("gone-cpu".into())), None),
        (Some(Node::Link("../elsewhere".into())), Some("gone-cpu\n")),
        (None, None),
    ] {
        let mut disk = Disk::default();
        let machine = Machine::install(vec![plan("b1", "cpu")], settings("1-a")).expect("plans");
        drive_well(machine, &mut disk).result.expect("it installs");
        disk.nodes.remove("current");
        disk.nodes.extend(current.map(|node| ("current".into(), node)));
        disk.nodes.extend(pinned.map(|text| ("pinned".into(), Node::File(text.into()))));
        let machine = Machine::remove(Some(name("b1-cpu")), "1-b").expect("a nonce");
        let finished = drive_well(machine, &mut disk).result.expect("it removes");
        assert_eq!((finished.removed, finished.current), (vec![name("b1-cpu")], None));
        assert_eq!(disk, Disk::default());
    }
}

#[test]
fn removing_beside_a_dangling_link_sets_it_right() {
    let mut disk = two();
    disk.nodes.insert("current".into(), Node::Link("b9-cuda".into()));
    let machine = Machine::remove(Some(name("b2-cpu")), "1-b").expect("a nonce");
    drive_well(machine, &mut disk).result.expect("it removes");
    assert_eq!(disk.nodes.get("current"), Some(&Node::Link("b1-cpu".into())));
}
