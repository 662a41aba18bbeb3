//! An install's files against its manifest.

use superfluid_core::Refusal;
use superfluid_core::install::inventory::{Content, Found, Kind, Verified, verify};
use superfluid_core::install::{Manifest, ManifestFile};

fn file(size: u64, digit: &str, executable: bool) -> Content {
    Content::File { size, sha256: digit.repeat(64), executable }
}

fn link(to: &str) -> Content {
    Content::Link { link: to.into() }
}

fn placed() -> Vec<(&'static str, Content)> {
    vec![("bin/w", file(3, "a", true)), ("lib/l.so", link("l.so.1")), ("lib/l.so.1", file(9, "b", false))]
}

fn manifest() -> Manifest {
    let json = r#"{"version":"b1","backend":"cpu","sources":[]}"#;
    let mut manifest = Manifest::parse(json, "runtime.json").expect("a manifest");
    manifest.files =
        placed().into_iter().map(|(path, content)| ManifestFile { path: path.into(), content }).collect();
    manifest
}

fn found(contents: Vec<(&str, Content)>) -> Vec<Found> {
    let found = contents.into_iter().map(|(path, content)| Found { path: path.into(), content: Ok(content) });
    found.chain([Found { path: "runtime.json".into(), content: Ok(file(1, "e", false)) }]).collect()
}

/// What verifying says after `change`.
fn after(change: impl FnOnce(&mut Vec<Found>)) -> Vec<(String, Kind, String)> {
    let mut found = found(placed());
    change(&mut found);
    match verify(Ok(&manifest()), &found) {
        Verified::Changed { changes } => {
            changes.into_iter().map(|change| (change.path, change.change, change.detail)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_untouched_install_is_unchanged_whatever_its_manifest_weighs() {
    assert_eq!(verify(Ok(&manifest()), &found(placed())), Verified::Unchanged { files: 3 });
}

#[test]
fn each_way_to_differ_is_told_apart() {
    let one = |path: &str, kind, detail: &str| vec![(path.to_string(), kind, detail.to_string())];
    assert_eq!(after(|found| drop(found.remove(1))), one("lib/l.so", Kind::Missing, ""));
    let extra = Found { path: "lib/x".into(), content: Ok(file(1, "c", false)) };
    assert_eq!(after(|found| found.push(extra)), one("lib/x", Kind::Extra, ""));
    let odd = Found { path: "fifo".into(), content: Err("is neither file, folder nor link".into()) };
    assert_eq!(after(|found| found.push(odd)), one("fifo", Kind::Extra, ""));
    for (index, now, detail) in [
        (0, Ok(file(4, "a", true)), "has 4 bytes instead of 3".to_string()),
        (
            0,
            Ok(file(3, "c", true)),
            format!("has the SHA-256 {} instead of {}", "c".repeat(64), "a".repeat(64)),
        ),
        (0, Ok(file(3, "a", false)), "may not be run any more".into()),
        (2, Ok(file(9, "b", true)), "may be run, and might not".into()),
        (1, Ok(link("/etc/passwd")), "links to /etc/passwd instead of l.so.1".into()),
        (1, Ok(file(9, "b", false)), "is a file instead of a link to l.so.1".into()),
        (2, Ok(link("x")), "is a link to x instead of a file".into()),
        (2, Err("cannot be read: permission denied".into()), "cannot be read: permission denied".into()),
    ] {
        let said = after(|found| found[index].content = now);
        assert_eq!(said, one(placed()[index].0, Kind::Changed, &detail));
    }
}

#[test]
fn what_cannot_be_told_is_not_called_unchanged() {
    let json = r#"{"version":"b1","backend":"cpu","sources":[]}"#;
    let old = Manifest::parse(json, "runtime.json").expect("a manifest");
    let unreadable = Err(Refusal::new("bad_manifest", "it cannot be read"));
    for manifest in [Ok(&old), unreadable] {
        assert!(matches!(verify(manifest, &found(placed())), Verified::Unknown { .. }));
    }
}

#[test]
fn a_manifest_keeps_its_files_through_text() {
    let manifest = manifest();
    assert_eq!(Manifest::parse(&manifest.to_json(), "runtime.json").expect("it reads"), manifest);
}
