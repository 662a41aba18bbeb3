//! Whole and broken archives, honest ones and their modes.

use crate::tgz::{END, base, dir, file, gzip, hardlink, header, long_name, member, pax, symlink, tgz};
use crate::world::World;
use std::os::unix::fs::PermissionsExt;

#[test]
fn case_a05_honest_links_resolve_once_installed() {
    let world = World::new();
    let members = [
        base(),
        file("sf/lib/libz.so.0.9.4", b"ELF", 0o644),
        symlink("sf/lib/libz.so.0", "libz.so.0.9.4"),
        symlink("sf/lib/libz.so", "libz.so.0"),
        symlink("sf/bin/t", "../lib/libz.so"),
        hardlink("sf/lib/libhard.so", "sf/lib/libz.so.0.9.4"),
        dir("sf/share/"),
        symlink("sf/share/lib", "../lib"),
    ];
    world.install(&tgz(&members)).expect("honest links");
    let read = |path: &str| std::fs::read(world.dir.join("current").join(path)).expect(path);
    for path in ["bin/t", "lib/libz.so", "lib/libhard.so", "share/lib/libz.so.0"] {
        assert_eq!(read(path), b"ELF", "{path}");
    }
}

#[test]
fn case_a08_modes_are_0755_and_0644_whatever_the_archive_and_the_umask_say() {
    let world = World::new();
    let members = [
        base(),
        file("sf/lib/a", b"a", 0o666),
        file("sf/lib/s", b"s", 0o6777),
        member("sf/zero/", b'5', "", 0, b""),
        file("sf/zero/in", b"a", 0),
        member("sf/sticky/", b'5', "", 0o1777, b""),
    ];
    world.install(&tgz(&members)).expect("modes are normalised");
    let mode = |path: &str| {
        world.dir.join("b1-cpu").join(path).metadata().expect(path).permissions().mode() & 0o7777
    };
    for (path, want) in [
        ("", 0o755),
        ("lib", 0o755),
        ("zero", 0o755),
        ("sticky", 0o755),
        ("lib/a", 0o644),
        ("zero/in", 0o644),
        ("lib/s", 0o755),
        ("bin/superfluid-worker-llamacpp", 0o755),
        ("runtime.json", 0o644),
    ] {
        assert_eq!(mode(path), want, "{path}");
    }
}

#[test]
fn long_names_come_in_both_spellings() {
    let world = World::new();
    let long = format!("sf/lib/{}", "n".repeat(200));
    let other = format!("sf/lib/{}", "m".repeat(200));
    let members = [
        base(),
        long_name(&long),
        file("cut", b"gnu", 0o644),
        pax("path", other.as_bytes()),
        file("cut", b"pax", 0o644),
    ];
    world.install(&tgz(&members)).expect("long names");
    let read = |path: &str| std::fs::read(world.dir.join("b1-cpu").join(&path[3..])).expect("a file");
    assert_eq!((read(&long), read(&other)), (b"gnu".to_vec(), b"pax".to_vec()));
}

#[test]
fn case_a12_an_archive_that_is_not_whole_is_refused() {
    let world = World::new();
    let whole = tgz(&[base()]);
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        bytes
    };
    let cut_member = [base(), header(b"sf/lib/cut", 5000, b'0', b"", 0o644), b"short".to_vec()].concat();
    for (what, bytes) in [
        ("half", whole[..whole.len() / 2].to_vec()),
        ("one byte short", whole[..whole.len() - 1].to_vec()),
        ("checksum", flipped(whole.len() - 8)),
        ("length", flipped(whole.len() - 4)),
        ("junk after", [whole.as_slice(), b"junk after end"].concat()),
        ("junk after padding", [whole.as_slice(), &[0; 600], b"x"].concat()),
        ("no end", gzip(&base())),
        ("half an end", gzip(&[base().as_slice(), &END[..512]].concat())),
        ("junk after the end", gzip(&[base().as_slice(), &END, b"x"].concat())),
        ("a member cut", gzip(&cut_member)),
        ("ends in a header", gzip(&[base().as_slice(), &[1; 100]].concat())),
        ("a header of nonsense", gzip(&[base().as_slice(), &[1; 512], &END].concat())),
        ("not gzip", [base().as_slice(), &END].concat()),
        ("empty", Vec::new()),
        ("a web page", b"<!DOCTYPE html>".to_vec()),
    ] {
        let message = world.refused(&bytes);
        assert!(message.contains("a.tar.gz"), "{what}: {message}");
    }
}

#[test]
fn case_a12_padding_and_joined_members_are_read_on() {
    let world = World::new();
    let raw = [base().as_slice(), &file("sf/lib/late", b"late", 0o644), &END].concat();
    for at in [base().len(), 700, 1] {
        let joined = [gzip(&raw[..at]), gzip(&raw[at..]), vec![0; 4096]].concat();
        let world = World::new();
        world.install(&joined).expect("joined members");
        assert_eq!(std::fs::read(world.dir.join("b1-cpu/lib/late")).expect("late"), b"late");
    }
    let padded = gzip(&[base().as_slice(), &END, &[0; 9216]].concat());
    world.install(&padded).expect("a padded tar archive");
}

#[test]
fn case_a11_what_expands_without_end_is_stopped_before_a_byte_is_written() {
    let world = World::new();
    let zeros = 300 << 20;
    let bomb = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&base()).expect("memory");
        encoder.write_all(&header(b"sf/lib/zeros", zeros, b'0', b"", 0o644)).expect("memory");
        for _ in 0..zeros >> 20 {
            encoder.write_all(&vec![0; 1 << 20]).expect("memory");
        }
        encoder.write_all(&END).expect("memory");
        encoder.finish().expect("memory")
    };
    assert!(bomb.len() < 2 << 20);
    assert!(world.refused(&bomb).contains("unpacks to more than"));
    let many: Vec<Vec<u8>> = std::iter::once(base())
        .chain((0..50_001).map(|at| file(&format!("sf/m/{at}"), b"", 0o644)))
        .collect();
    assert!(world.refused(&tgz(&many)).contains("members"));
    let large = [base(), pax("comment", &vec![b'a'; 1 << 20]), file("sf/lib/p", b"p", 0o644)];
    assert!(world.refused(&tgz(&large)).contains("extension header"));
    // A claimed length is believed no further than the bytes that are there.
    let claims = [base(), header(b"sf/lib/c", 0o7_777_777_777, b'0', b"", 0o644)].concat();
    assert!(world.refused(&gzip(&claims)).contains("ends"));
}
