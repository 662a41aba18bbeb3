//! What an update and a repair come to, read off a runtime's directory.

use super::plan::recipe;
use crate::host::linux;
use superfluid_core::install::machine::{Entry, EntryKind, Listing};
use superfluid_core::install::renew::{self, Update};
use superfluid_core::install::{InstallName, Planning, Source, Trust};

fn manifest(version: &str, backend: &str, sources: &str) -> String {
    format!(r#"{{"version":"{version}","backend":"{backend}","sources":[{sources}]}}"#)
}

fn local(path: &str) -> String {
    format!(r#"{{"name":"a.tar.gz","from":"{path}","size":7,"sha256":"{}"}}"#, "a".repeat(64))
}

/// A directory with these installs, `(version, backend)`, each from a local archive.
fn listing(installs: &[(&str, &str)]) -> Listing {
    let entries = installs.iter().map(|(version, backend)| Entry {
        name: format!("{version}-{backend}"),
        kind: EntryKind::Dir,
        manifest: Some(manifest(version, backend, &local("/tmp/a.tar.gz"))),
        worker: true,
    });
    Listing { entries: entries.collect(), ..Listing::default() }
}

fn update(listing: &Listing) -> Update {
    renew::update(listing, &linux(&[]), &recipe()).expect("something is installed")
}

fn newer(listing: &Listing) -> (InstallName, Planning) {
    match update(listing) {
        Update::Newer { default, planning } => (default, planning),
        other @ Update::Newest { .. } => panic!("{other:?}"),
    }
}

fn repair(listing: &Listing, name: Option<&str>) -> Planning {
    let name = name.map(|name| InstallName::new(name).expect("a name"));
    renew::repair(name.as_ref(), listing, &linux(&[]), &recipe()).expect("it can be repaired")
}

#[test]
fn row_b4_an_update_keeps_the_default_installs_backend_and_has_no_fallback() {
    let mut there = listing(&[("b9", "vulkan"), ("b10", "cpu")]);
    let (default, planning) = newer(&there);
    assert_eq!(default.as_str(), "b9-vulkan");
    let names: Vec<&str> = planning.plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(names, ["b11284-vulkan"]);
    assert!(planning.plans[0].reason.contains("b9-vulkan"), "{}", planning.plans[0].reason);

    // The default is what serves: the pin and the link before ranking.
    there.pinned = Some("b10-cpu\n".into());
    assert_eq!(newer(&there).1.plans[0].name.as_str(), "b11284-cpu");
    there.pinned = None;
    there.current = Some("b10-cpu".into());
    assert_eq!(newer(&there).1.plans[0].name.as_str(), "b11284-cpu");
    // A pin that names nothing says nothing.
    there.current = None;
    there.pinned = Some("b7-cpu\n".into());
    assert_eq!(newer(&there).1.plans[0].name.as_str(), "b11284-vulkan");
}

#[test]
fn row_b4_an_update_never_goes_back() {
    for version in ["b11284", "b11285", "b100000"] {
        assert!(matches!(update(&listing(&[(version, "cuda")])), Update::Newest { .. }), "{version}");
    }
    // As text, b9999 would be the newer one.
    assert!(matches!(update(&listing(&[("b9999", "cuda")])), Update::Newer { .. }));
}

#[test]
fn an_update_of_nothing_says_how_to_install() {
    let mut half = listing(&[("b9", "cpu")]);
    half.entries[0].worker = false;
    for there in [Listing::default(), half] {
        let refusal = renew::update(&there, &linux(&[]), &recipe()).expect_err("nothing whole is there");
        assert_eq!(refusal.code, "not_installed");
        assert!(refusal.hints[0].contains("runtime install llamacpp"), "{:?}", refusal.hints);
    }
}

#[test]
fn row_b5_a_repair_takes_version_backend_and_archives_from_the_manifest() {
    let planning = repair(&listing(&[("b9", "vulkan"), ("b10", "cpu")]), Some("b10-cpu"));
    let [plan] = &planning.plans[..] else { panic!("one plan, no fallback") };
    assert_eq!((plan.name.as_str(), plan.version.as_str(), plan.backend.as_str()), ("b10-cpu", "b10", "cpu"));
    let asset = &plan.assets[0];
    assert_eq!(asset.source, Source::File { path: "/tmp/a.tar.gz".into() });
    assert_eq!((asset.size, asset.sha256.as_deref(), asset.trust), (Some(7), Some(&*"a".repeat(64)), None));
}

#[test]
fn row_b5_the_recipes_word_counts_more_than_the_disks() {
    let recipe = recipe();
    let pinned = recipe.assets.iter().find(|asset| asset.backend == "vulkan").expect("a build");
    let source = |trust: &str| {
        format!(
            r#"{{"name":"{}","from":"https://elsewhere.example/x","sha256":"{}","trust":"{trust}"}}"#,
            pinned.name,
            "b".repeat(64)
        )
    };
    let mut there = listing(&[("b11284", "vulkan")]);
    there.entries[0].manifest = Some(manifest("b11284", "vulkan", &source("recipe")));
    let asset = repair(&there, None).plans[0].assets[0].clone();
    assert_eq!(asset.source, Source::Url { url: recipe.url(pinned) });
    assert_eq!((asset.sha256.as_ref(), asset.trust), (Some(&pinned.sha256), Some(Trust::Recipe)));

    // What the user vouched for comes from where the user had it.
    there.entries[0].manifest = Some(manifest("b11284", "vulkan", &source("user")));
    let asset = repair(&there, None).plans[0].assets[0].clone();
    assert_eq!(asset.source, Source::Url { url: "https://elsewhere.example/x".into() });
    assert_eq!((asset.sha256, asset.trust), (Some("b".repeat(64)), Some(Trust::User)));
}

#[test]
fn row_b5_a_broken_install_is_repaired_and_comes_before_a_whole_one() {
    let mut there = listing(&[("b9", "vulkan"), ("b10", "cpu")]);
    there.entries[1].worker = false;
    there.current = Some("b10-cpu".into());
    assert_eq!(repair(&there, None).plans[0].name.as_str(), "b10-cpu");
    there.pinned = Some("b9-vulkan\n".into());
    assert_eq!(repair(&there, None).plans[0].name.as_str(), "b9-vulkan");
    there.pinned = Some("b1-cpu\n".into());
    assert_eq!(repair(&there, None).plans[0].name.as_str(), "b10-cpu");
}

#[test]
fn row_b5_an_unreadable_manifest_leaves_the_name() {
    let facts = linux(&[]);
    for text in [None, Some("{"), Some(r#"{"version":"b11284","backend":"cpu","sources":[]}"#)] {
        let mut there = listing(&[("b11284", "cpu"), ("b9", "cpu")]);
        for entry in &mut there.entries {
            entry.manifest = text.map(String::from);
        }
        let plan = repair(&there, Some("b11284-cpu")).plans.remove(0);
        assert_eq!(
            (plan.name.as_str(), plan.assets[0].trust),
            ("b11284-cpu", Some(Trust::Recipe)),
            "{text:?}"
        );
        let name = InstallName::new("b9-cpu").expect("a name");
        let refusal = renew::repair(Some(&name), &there, &facts, &recipe()).expect_err("nobody knows");
        assert_eq!(refusal.code, "no_sources");
        assert!(refusal.hints[0].contains("--version b9 --backend cpu"), "{:?}", refusal.hints);
    }
    let name = InstallName::new("b1-cpu").expect("a name");
    let refusal = renew::repair(Some(&name), &listing(&[("b9", "cpu")]), &facts, &recipe());
    assert_eq!(refusal.expect_err("it is not there").code, "no_such_install");
}

#[test]
fn a_manifest_that_leads_elsewhere_is_refused() {
    let facts = linux(&[]);
    let digest = "a".repeat(64);
    let with = |sha256: &str| format!(r#"{{"name":"../../x","from":"/a","sha256":"{sha256}"}}"#);
    let mut there = listing(&[("b9", "cpu")]);
    for text in [
        manifest("../b9", "cpu", &with(&digest)),
        manifest("b9", "../cpu", &with(&digest)),
        manifest("b9", "cpu", &with("abc")),
    ] {
        there.entries[0].manifest = Some(text.clone());
        renew::repair(None, &there, &facts, &recipe()).expect_err(&text);
    }
    there.entries[0].manifest = Some(manifest("b9", "cpu", &with(&digest)));
    assert_eq!(repair(&there, None).plans[0].assets[0].name, "archive-0.tar.gz");
}
