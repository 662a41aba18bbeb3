//! Archives that would land elsewhere: refused, nothing written, nothing touched outside.

use crate::tgz::{base, dir, file, hardlink, long_name, member, pax, symlink, tgz};
use crate::world::World;
use std::os::unix::fs::PermissionsExt;

/// A world and a folder outside of it that nobody may touch.
fn outside() -> (World, String) {
    let world = World::new();
    let outside = world.temp.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let path = outside.display().to_string();
    (world, path)
}

fn untouched(path: &str) {
    assert_eq!(std::fs::read_dir(path).expect("it is there").count(), 0, "something landed outside");
    assert_eq!(std::fs::metadata(path).expect("it is there").permissions().mode() & 0o7777, 0o700);
}

#[test]
fn case_a01_a_file_is_not_written_through_a_link() {
    let (world, outside) = outside();
    let target = format!("{outside}/x");
    world.refused(&tgz(&[base(), symlink("sf/lib/x", &target), file("sf/lib/x", b"pwn", 0o644)]));
    world.refused(&tgz(&[base(), symlink("sf/d", ".."), file("sf/d/pwn", b"pwn", 0o644)]));
    world.refused(&tgz(&[base(), symlink("sf/d", &outside), file("sf/d/pwn", b"pwn", 0o644)]));
    untouched(&outside);
}

#[test]
fn case_a03_links_out_are_refused() {
    let (world, outside) = outside();
    let target = format!("{outside}/x");
    world.refused(&tgz(&[base(), symlink("sf/lib/abs", &target)]));
    world.refused(&tgz(&[base(), dir("sf/a/"), symlink("sf/a/b", "../../x")]));
    world.refused(&tgz(&[base(), hardlink("sf/lib/h", "../x")]));
    world.refused(&tgz(&[base(), hardlink("sf/lib/h", "/etc/hostname")]));
    world.refused(&tgz(&[base(), pax("linkpath", b"../../../x"), symlink("sf/lib/l", "libok.so.1.2")]));
    untouched(&outside);
}

#[test]
fn case_a07_modes_do_not_follow_links() {
    let (world, outside) = outside();
    world.refused(&tgz(&[base(), symlink("sf/d", &outside), member("sf/d/", b'5', "", 0o777, b"")]));
    untouched(&outside);
}

#[test]
fn case_a09_names_that_fold_together_are_refused() {
    let (world, outside) = outside();
    world.refused(&tgz(&[base(), file("sf/lib/Foo.so", b"1", 0o644), file("sf/lib/foo.so", b"2", 0o644)]));
    world.refused(&tgz(&[base(), symlink("sf/\u{e4}", &outside), file("sf/a\u{308}/evil", b"pwn", 0o644)]));
    world.refused(&tgz(&[base(), file("sf/lib/dup.so", b"1", 0o644), file("sf/lib/dup.so", b"2", 0o644)]));
    untouched(&outside);
}

#[test]
fn case_a10_no_hostile_name_lands_anywhere() {
    let (world, outside) = outside();
    let before = crate::world::tree(world.temp.path());
    let absolute = format!("{outside}/abs");
    let long = format!("sf/{}", "n".repeat(300));
    for name in [
        "..././x",
        "sf/a/../../../x",
        &absolute,
        "C:\\x",
        "sf\\..\\..\\x",
        "./../x",
        "../x",
        ".",
        "..",
        "//x",
        "sf/lib/",
        "sf/./lib/./y",
        "",
        &long,
    ] {
        let member = match name.len() {
            0..=100 => file(name, b"pwn", 0o644),
            _ => [long_name(name), file("cut", b"pwn", 0o644)].concat(),
        };
        world.refused(&tgz(&[base(), member]));
        world.refused(&tgz(&[base(), pax("path", name.as_bytes()), file("sf/ok", b"pwn", 0o644)]));
    }
    world.refused(&tgz(&[base(), pax("path", b"sf/lib/ok\0/../../x"), file("sf/ok", b"pwn", 0o644)]));
    untouched(&outside);
    let after = crate::world::tree(world.temp.path());
    let new: Vec<_> =
        after.iter().filter(|entry| !before.contains(entry)).map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        new,
        ["a.tar.gz", "home", "home/runtimes", "home/runtimes/llamacpp", "home/runtimes/llamacpp/.lock"]
    );
}

#[test]
fn case_a11_a_name_never_steers_a_terminal() {
    let world = World::new();
    let message = world.refused(&tgz(&[base(), file("sf/lib/\u{1b}[2J\u{1b}]0;pwn\u{7}", b"p", 0o644)]));
    assert!(message.contains("\\u{1b}") && !message.contains('\u{1b}'), "{message}");
    let message = world.refused(&tgz(&[base(), file("sf/lib/a\nInstalled OK", b"p", 0o644)]));
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn case_a13_devices_pipes_and_unknown_types_are_refused() {
    let world = World::new();
    for flag in [b'3', b'4', b'6', b'7', b'Z', b'S'] {
        world.refused(&tgz(&[base(), member("sf/lib/f", flag, "", 0o644, b"")]));
    }
    let sparse = [pax("GNU.sparse.major", b"1"), file("sf/lib/s", b"s", 0o644)].concat();
    world.refused(&tgz(&[base(), sparse]));
    let global = member("pax", b'g', "", 0o644, b"17 path=../../pwn\n");
    world.refused(&tgz(&[base(), global]));
}
