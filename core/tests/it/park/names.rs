//! Names in the folder, the room in it, and which model is whose.

use super::play::ours;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use std::time::Duration;
use superfluid_core::park::{File, Kind, ModelDigest, Name, Origin, leftovers, make_room, samples};

fn file(name: &str, bytes: u64, used: u64) -> File {
    File { used: Duration::from_secs(used), name: name.into(), bytes }
}

/// A name of superfluid's.
fn own(nth: u32) -> String {
    Name::of(&ours(), &[nth]).to_string()
}

#[test]
fn the_same_tokens_have_the_same_name_and_others_another() {
    let name = Name::of(&ours(), &[1, 2]);
    assert_eq!(name, Name::of(&ours(), &[1, 2]));
    assert_ne!(name, Name::of(&ours(), &[1, 3]));
    let other = Origin { model: "other".into(), ..ours() };
    assert_ne!(name, Name::of(&other, &[1, 2]));
    assert!(name.is_of(&ours()) && !name.is_of(&other));
    assert_eq!(name.to_string().len(), 16 + 1 + 32 + 5);
    assert_eq!(Name::parse(&name.to_string()), Some((name.clone(), Kind::Whole)));
    assert_eq!(Name::parse(&name.part(77)), Some((name, Kind::Part)));
}

/// Whatever a model is called, and whatever lies in the folder.
#[test]
fn case_x07_a_name_is_never_a_path() {
    let evil = Origin { model: "../../etc/passwd\0".into(), ..ours() };
    let name = Name::of(&evil, &[1]).to_string();
    assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.'), "{name}");
    let good = own(1);
    for bad in [
        format!("../{good}"),
        good.to_uppercase(),
        good.replace('-', "/"),
        format!("{good}.part"),
        good.replace(".park", "..part"),
        good.replace(".park", ".123456789012345678901.part"),
        good[1..].into(),
        ".park".into(),
        "notes.txt".into(),
    ] {
        assert_eq!(Name::parse(&bad), None, "{bad}");
    }
}

#[test]
fn what_was_used_longest_ago_goes_first_and_only_as_much_as_must() {
    let files = || vec![file(&own(1), 40, 3), file(&own(2), 30, 1), file(&own(3), 20, 2)];
    assert_eq!(make_room(files(), 100, 10), Some(vec![]));
    assert_eq!(make_room(files(), 100, 11), Some(vec![own(2)]));
    assert_eq!(make_room(files(), 100, 41), Some(vec![own(2), own(3)]));
    assert_eq!(make_room(files(), 100, 100), Some(vec![own(2), own(3), own(1)]));
    assert_eq!(make_room(files(), 100, 101), None, "more than the folder may hold");
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    let files = vec![file("notes.txt", 1000, 0), file(&own(1), 10, 5)];
    assert_eq!(make_room(files.clone(), 20, 15), Some(vec![own(1)]));
    assert_eq!(leftovers(&files, Duration::from_secs(1 << 30)), Vec::<String>::new());
}

#[test]
fn parts_whose_writer_is_gone_are_swept() {
    let name = Name::of(&ours(), &[1]);
    let files = [file(&name.part(1), 1, 1000), file(&name.part(2), 1, 5000), file(&name.to_string(), 1, 0)];
    assert_eq!(leftovers(&files, Duration::from_secs(4600)), [name.part(1)]);
}

#[test]
fn a_model_is_told_from_one_trained_further_and_from_one_made_anew() {
    let digest = |name: &str, len, changed, samples: &[&[u8]]| {
        let mut digest = ModelDigest::default();
        digest.file(name, len, Duration::from_nanos(changed));
        samples.iter().for_each(|sample| digest.sample(sample));
        digest.finish()
    };
    let base = digest("a", 9, 1, &[b"ab", b"c"]);
    assert_eq!(base.len(), 64);
    assert_eq!(base, digest("a", 9, 1, &[b"ab", b"c"]));
    for other in [
        digest("b", 9, 1, &[b"ab", b"c"]),
        digest("a", 8, 1, &[b"ab", b"c"]),
        digest("a", 9, 2, &[b"ab", b"c"]),
        digest("a", 9, 1, &[b"a", b"bc"]),
    ] {
        assert_ne!(base, other);
    }
}

proptest! {
    #[test]
    fn what_stays_has_room(files in vec((0_u32..9, 0_u64..60, 0_u64..9), 0..12), budget in 0_u64..200, more in 0_u64..100) {
        let files: Vec<File> =
            files.into_iter().enumerate().map(|(at, (_, bytes, used))| file(&own(at as u32), bytes, used)).collect();
        let Some(gone) = make_room(files.clone(), budget, more) else {
            prop_assert!(more > budget);
            return Ok(());
        };
        let (out, stay): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| gone.contains(&file.name));
        prop_assert_eq!(out.len(), gone.len());
        prop_assert!(stay.iter().map(|file| file.bytes).sum::<u64>() + more <= budget);
        let newest = out.iter().map(|file| file.used).max();
        prop_assert!(stay.iter().all(|file| Some(file.used) >= newest));
        // The last to go had to.
        let last = out.iter().max_by_key(|file| (file.used, &file.name)).map_or(0, |file| file.bytes);
        let without = stay.iter().map(|file| file.bytes).sum::<u64>() + last;
        prop_assert!(out.is_empty() || without + more > budget);
    }

    #[test]
    fn samples_lie_in_the_file_and_reach_both_ends(len in any::<u64>().prop_map(|len| len >> (len % 60))) {
        let all: Vec<_> = samples(len).collect();
        prop_assert!(all.iter().all(|part| part.end <= len && part.start <= part.end));
        prop_assert_eq!((all[0].start, all[all.len() - 1].end), (0, len));
        let read: u64 = all.iter().map(|part| part.end - part.start).sum();
        prop_assert!(read <= 1 << 20);
    }
}
