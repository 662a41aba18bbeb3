//! Members judged alone and together: the cases A-* that need no file.

use proptest::prelude::*;
use superfluid_core::install::archive::{
    Budget, Judged, Kind, Limits, Member, RawMember, Shape, arrange, fold, judge,
};
use superfluid_core::{Refusal, install::archive::Arrangement};

fn raw<'a>(name: &'a [u8], flag: u8, link: &'a [u8]) -> RawMember<'a> {
    RawMember { name, link, flag, mode: 0o644, size: 0 }
}

fn read(name: &str, flag: u8, link: &str) -> Result<Member, Refusal> {
    Member::read(raw(name.as_bytes(), flag, link.as_bytes()))
}

/// An archive of an install's shape, and these members after it.
fn judged(more: &[(&str, u8, &str)]) -> Result<Judged, Refusal> {
    let base = [
        ("sf/", b'5', ""),
        ("sf/bin/", b'5', ""),
        ("sf/bin/superfluid-worker-mock", b'0', ""),
        ("sf/lib/", b'5', ""),
        ("sf/lib/libok.so.1.2", b'0', ""),
    ];
    let members = base.iter().chain(more).map(|(name, flag, link)| read(name, *flag, link));
    judge(members.collect::<Result<_, _>>()?)
}

fn refused(more: &[(&str, u8, &str)]) -> String {
    let refusal =
        judged(more).and_then(|judged| arrange(&[judged], Shape::of("mock"))).expect_err("it is refused");
    assert_eq!(refusal.code, "bad_archive");
    refusal.message
}

fn arranged(more: &[(&str, u8, &str)]) -> Arrangement {
    judged(more).and_then(|judged| arrange(&[judged], Shape::of("mock"))).expect("it is taken")
}

#[test]
fn case_a01_a_link_and_then_a_member_through_it_is_refused() {
    assert!(refused(&[("sf/lib/x", b'2', "/tmp/sf_out"), ("sf/lib/x", b'0', "")]).contains("sf/lib/x"));
    refused(&[("sf/d", b'2', ".."), ("sf/d/pwn", b'0', "")]);
    // Through an honest link as well, and whichever comes first.
    refused(&[("sf/d", b'2', "lib"), ("sf/d/x", b'0', "")]);
    refused(&[("sf/d/x", b'0', ""), ("sf/d", b'2', "lib")]);
}

#[test]
fn case_a03_links_out_are_refused() {
    for (flag, name, target) in [
        (b'2', "sf/lib/abs", "/etc/hostname"),
        (b'2', "sf/a/b", "../../x"),
        (b'2', "sf/a/b", "../../../x"),
        (b'2', "sf/up", ".."),
        (b'2', "sf/lib/up", "../.."),
        // What a ".." after a name means is decided on disk, by what that name is.
        (b'2', "sf/lib/x", "deep/../../../x"),
        (b'2', "sf/lib/x", "deep/../x"),
        (b'1', "sf/lib/h", "../x"),
        (b'1', "sf/lib/h", "/etc/hostname"),
        (b'1', "sf/lib/h", "sf/lib/nothing"),
        (b'1', "sf/lib/h", "lib/libok.so.1.2"),
        (b'1', "sf/lib/h", "sf/lib"),
    ] {
        let message = refused(&[(name, flag, target)]);
        assert!(message.contains("link") || message.contains("absolute"), "{name} -> {target}: {message}");
    }
    refused(&[("sf/s", b'2', "lib/libok.so.1.2"), ("sf/h", b'1', "sf/s")]);
}

#[test]
fn case_a05_honest_links_survive() {
    let all = arranged(&[
        ("sf/lib/libz.so.0.9.4", b'0', ""),
        ("sf/lib/libz.so.0", b'2', "libz.so.0.9.4"),
        ("sf/lib/libz.so", b'2', "libz.so.0"),
        ("sf/bin/t", b'2', "../lib/libz.so"),
        ("sf/lib/libhard.so", b'1', "sf/lib/libz.so.0.9.4"),
        ("sf/share/", b'5', ""),
        ("sf/share/lib", b'2', "../lib"),
        ("sf/all", b'2', "./"),
        ("sf/far", b'2', "../sf/lib/libz.so"),
    ]);
    let links: Vec<_> = all.links.iter().map(|link| (link.path.as_str(), link.target.as_str())).collect();
    assert_eq!(
        links,
        [
            ("lib/libz.so.0", "libz.so.0.9.4"),
            ("lib/libz.so", "libz.so.0"),
            ("bin/t", "../lib/libz.so"),
            ("share/lib", "../lib"),
            ("all", "."),
            ("far", "lib/libz.so"),
        ]
    );
    assert_eq!(
        (all.hard[0].path.as_str(), all.hard[0].target.as_str()),
        ("lib/libhard.so", "lib/libz.so.0.9.4")
    );
    assert_eq!(all.dirs, ["bin", "lib", "share"]);
    assert!(all.worker);
}

#[test]
fn case_a07_a_link_and_a_folder_of_one_name_are_refused() {
    refused(&[("sf/d", b'2', "/tmp/sf_outside_dir"), ("sf/d/", b'5', "")]);
    refused(&[("sf/d", b'2', "lib"), ("sf/d/", b'5', "")]);
}

#[test]
fn case_a08_only_the_owners_execute_bit_is_kept() {
    let kind = |mode| Member::read(RawMember { mode, ..raw(b"lib/a", b'0', b"") }).expect("a file").kind;
    for mode in [0o6777, 0o755, 0o700, 0o100] {
        assert_eq!(kind(mode), Kind::File { executable: true }, "{mode:o}");
    }
    for mode in [0o666, 0, 0o4644, 0o011] {
        assert_eq!(kind(mode), Kind::File { executable: false }, "{mode:o}");
    }
}

#[test]
fn case_a09_names_that_fold_together_are_refused() {
    let message = refused(&[("sf/lib/Foo.so", b'0', ""), ("sf/lib/foo.so", b'0', "")]);
    assert!(message.contains("Foo.so") && message.contains("foo.so"), "{message}");
    refused(&[("sf/\u{e4}", b'2', "lib"), ("sf/a\u{308}/evil", b'0', "")]);
    refused(&[("sf/lib/dup.so", b'0', ""), ("sf/lib/dup.so", b'0', "")]);
    refused(&[("sf/LIB/x", b'0', "")]);
    assert_eq!(fold("\u{c4}\u{130}"), fold("a\u{308}i\u{307}"));
    assert_ne!(fold("x"), fold("y"));
}

#[test]
fn case_a10_names_are_judged_part_by_part_and_never_repaired() {
    let long = format!("sf/{}", "n".repeat(300));
    let deep = "d/".repeat(600) + "x";
    let names = [
        "..././x",
        "sf/a/../../../x",
        "/abs_x",
        "C:\\x",
        "c:/x",
        "sf\\..\\..\\x",
        "./../x",
        "../x",
        ".",
        "..",
        "sf/lib/ok\0/../../x",
        &long,
        &deep,
        "//x",
        "sf/lib/",
        "sf/./lib/./y",
        "",
        "sf//x",
        "a/..",
        "sf/.",
        "./",
        "x\u{202e}y",
        "\u{1b}[2J",
        "a\nb",
    ];
    for name in names {
        let refusal = read(name, b'0', "").expect_err(name);
        assert_eq!(refusal.code, "bad_archive");
        assert!(refusal.message.len() < 400 && !refusal.message.contains(['\u{1b}', '\n', '\u{202e}', '\0']));
    }
    assert!(Member::read(raw(b"sf/\xff", b'0', b"")).is_err());
    for (name, flag, path) in
        [("./sf/x", b'0', "sf/x"), ("./", b'5', ""), ("sf/d/", b'5', "sf/d"), ("sf/...", b'0', "sf/...")]
    {
        assert_eq!(read(name, flag, "").expect(name).path, path);
    }
}

#[test]
fn case_a11_members_bytes_and_headers_are_bounded() {
    let mut budget = Budget::new(Limits { unpacked: 100, members: 2, header: 10 });
    assert!(budget.unpacked(100).is_ok() && budget.unpacked(1).is_err());
    assert!(budget.member().is_ok() && budget.member().is_ok() && budget.member().is_err());
    assert!(budget.header(10).is_ok() && budget.header(11).is_err());
    assert!(budget.unpacked(u64::MAX).is_err(), "it saturates");
    let of = |size| Limits::for_size(size).unpacked;
    assert!(of(2 << 20) < 2 << 30, "two gibibytes of zeros pack to two mebibytes");
    assert!(of(600 << 20) > 2 << 30 && of(u64::MAX) <= 16 << 30);
}

#[test]
fn case_a13_what_is_neither_file_folder_nor_link_is_refused() {
    for flag in [b'3', b'4', b'6', b'7', b'Z', b'S', b'D', b'V', b'M', b'N', 0xff] {
        assert!(read("sf/lib/f", flag, "").is_err(), "{}", char::from(flag));
    }
    assert!(Member::read(RawMember { size: 1, ..raw(b"sf/l", b'2', b"lib") }).is_err(), "a link with data");
}

fn any_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("a"),
        Just("b"),
        Just("A"),
        Just(".."),
        Just("."),
        Just(""),
        Just("bin"),
        Just("lib")
    ];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"))
}

proptest! {
    /// Whatever is taken lies inside, once, and below no link; and links lead inside.
    #[test]
    fn whatever_is_arranged_stays_inside(
        members in proptest::collection::vec((any_name(), prop_oneof![Just(b'0'), Just(b'5'), Just(b'2'), Just(b'1')], any_name()), 0..12)
    ) {
        let base = [("bin/superfluid-worker-mock", b'0', ""), ("lib/x", b'0', "")];
        let base = base.iter().map(|(name, flag, link)| read(name, *flag, link).expect("a name"));
        let more = members.iter().filter_map(|(name, flag, link)| read(name, *flag, link).ok());
        let Ok(judged) = judge(base.chain(more).collect()) else { return Ok(()) };
        let Ok(all) = arrange(&[judged], Shape::of("mock")) else { return Ok(()) };
        let mut paths: Vec<&str> = all.files.iter().flatten().map(|file| file.path.as_str()).collect();
        paths.extend(all.hard.iter().map(|hard| hard.path.as_str()));
        paths.extend(all.links.iter().map(|link| link.path.as_str()));
        let mut sorted = paths.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), paths.len(), "a path twice");
        for path in &paths {
            prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{}", path);
            let parent = path.rsplit_once('/').map(|(parent, _)| parent.to_string());
            prop_assert!(parent.is_none_or(|parent| all.dirs.contains(&parent)), "{} has no folder", path);
            prop_assert!(!all.dirs.iter().any(|dir| dir == path));
            let below_link = all.links.iter().any(|link| path.starts_with(&format!("{}/", link.path)));
            prop_assert!(!below_link, "{} lies below a link", path);
        }
        for link in &all.links {
            let mut depth = link.path.matches('/').count();
            for part in link.target.split('/') {
                match part {
                    ".." => {
                        prop_assert!(depth > 0, "{} leads out to {}", link.path, link.target);
                        depth -= 1;
                    }
                    "." => {}
                    _ => depth += 1,
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_judged_without_panic(name: Vec<u8>, link: Vec<u8>, flag: u8, mode: u32, size: u64) {
        let _ = Member::read(RawMember { name: &name, link: &link, flag, mode, size });
    }
}
