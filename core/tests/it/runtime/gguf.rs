//! GGUF headers, whole and broken.

use super::file::{File, array, good, keys, read, string, tensor, text, u32_value};
use superfluid_core::Refusal;
use superfluid_core::runtime::format::{Entry, complete};
use superfluid_core::runtime::gguf::{GgufError, Header, Parsed};

fn whole(bytes: &[u8]) -> Result<Header, GgufError> {
    read(bytes, bytes.len())
}

fn refused(bytes: &[u8], name: &str) -> Refusal {
    match whole(bytes) {
        Ok(header) => header.servable(name).unwrap_err(),
        Err(error) => error.refusal(name),
    }
}

#[test]
fn a_good_file() {
    let bytes = good().bytes();
    let header = whole(&bytes).unwrap();
    assert_eq!(header.architecture(), Some("llama"));
    assert_eq!(header.name(), Some("tiny"));
    assert_eq!(header.context_length(), Some(2048));
    assert_eq!(header.token_count(), Some(3));
    assert!(header.has_chat_template());
    assert_eq!(header.tensors.iter().map(|tensor| tensor.bytes).collect::<Vec<_>>(), [Some(128), Some(36)]);
    assert_eq!(header.tensor_bytes(), 164);
    assert_eq!(header.data_start + 164, bytes.len() as u64);
    assert_eq!(header.servable("m.gguf"), Ok(()));
}

#[test]
fn a_header_is_read_from_any_first_prefix() {
    let bytes = good().bytes();
    let expected = whole(&bytes).unwrap();
    for first in 0..bytes.len() {
        assert_eq!(read(&bytes, first).unwrap(), expected, "{first}");
    }
}

#[test]
fn a_long_header_asks_for_what_it_needs() {
    let bytes = 30_u64.to_le_bytes();
    let prefix =
        [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &0_u64.to_le_bytes(), &1_u64.to_le_bytes(), &bytes]
            .concat();
    assert_eq!(Header::parse(&prefix, 10 << 20), Ok(Parsed::NeedMore { bytes: 1 << 20 }));
    let long = [array("a", 0, 5 << 20)].concat();
    let file = [&prefix[..24], &long].concat();
    let Ok(Parsed::NeedMore { bytes }) = Header::parse(&file, 10 << 20) else { panic!() };
    assert_eq!(bytes, file.len() as u64 + (5 << 20));
    let endless = [&prefix[..24], &array("a", 0, 1 << 40)].concat();
    assert!(matches!(Header::parse(&endless, 1 << 50), Err(GgufError::Broken(_))));
}

#[test]
fn case_m01_a_file_cut_anywhere_says_where() {
    let bytes = good().bytes();
    let start = whole(&bytes).unwrap().data_start;
    for len in 0..bytes.len() {
        let error = whole(&bytes[..len]).unwrap_err();
        let present = len as u64;
        if present >= start {
            let tensor = if present < start + 128 { "token_embd.weight" } else { "output.weight" };
            let needed = if present < start + 128 { start + 128 } else { start + 164 };
            assert_eq!(error, GgufError::DataCut { tensor: tensor.into(), needed, present });
        } else {
            let cut = matches!(&error, GgufError::HeaderCut { present: at, needed, .. } if *at == present && *needed > present)
                || matches!(&error, GgufError::DataCut { .. });
            assert!(cut, "{len}: {error}");
        }
        assert_eq!(error.refusal("m.gguf").code, "truncated_model");
    }
    let refusal = refused(&bytes[..bytes.len() - 1], "dir/m.gguf");
    let expected = format!(
        "dir/m.gguf cannot be served: the file is cut short: tensor \"output.weight\" needs {} bytes, {} are present",
        bytes.len(),
        bytes.len() - 1
    );
    assert_eq!(refusal.message, expected);
    assert!(refusal.hints[0].contains("download"));
    // Bytes after the last tensor are no fault.
    assert!(whole(&[bytes, vec![0; 33]].concat()).is_ok());
}

#[test]
fn case_m04_a_part_of_a_split_file_is_named() {
    let bytes = good().bytes();
    for name in ["m.gguf.part1of2", "m.gguf-split-a", "d/M.GGUF.part-aa"] {
        let refusal = refused(&bytes[..bytes.len() / 2], name);
        assert_eq!((refusal.code.as_str(), refusal.hints[0].contains("cat")), ("split_file", true), "{name}");
    }
    assert!(whole(&bytes).unwrap().servable("m.gguf.part1of1").is_ok());
}

#[test]
fn case_m05_m06_no_language_model() {
    let weights = || vec![tensor("t", &[8, 4], 0, 0)];
    let with = |keys: Vec<Vec<u8>>| refused(&File::new(keys, weights(), 128).bytes(), "x.gguf");
    let clip = with(vec![text("general.architecture", "clip")]);
    assert!(clip.message.contains("projector") && clip.hints[0].contains("language model"));
    assert_eq!(with([keys("llama"), vec![text("general.type", "mmproj")]].concat()), clip);
    let adapter = with([keys("llama"), vec![text("general.type", "adapter")]].concat());
    assert!(adapter.message.contains("adapter") && adapter.hints[0].contains("base model"));
    let vocabulary = refused(&File::new(keys("llama"), vec![], 0).bytes(), "v.gguf");
    assert_eq!(vocabulary.message, "v.gguf holds a vocabulary alone, no weights");
    assert_eq!(with(vec![text("general.name", "x")]).code, "bad_model");
    assert_eq!(with(vec![u32_value("general.architecture", 7)]).code, "bad_model");
}

#[test]
fn case_m07_versions_and_byte_order() {
    for version in [0, 1, 4, 17] {
        let error = whole(&File { version, ..good() }.bytes()).unwrap_err();
        assert_eq!(error, GgufError::Version(version));
        assert!(error.refusal("m.gguf").message.contains(&version.to_string()));
    }
    assert!(whole(&File { version: 2, ..good() }.bytes()).is_ok());
    let swapped = whole(&File { version: 0x0300_0000, ..good() }.bytes()).unwrap_err();
    assert_eq!(swapped, GgufError::BigEndian);
    assert!(swapped.refusal("m.gguf").message.contains("big-endian"));
    assert_eq!(whole(b"ggufxxxxxxxxxxxxxxxxxxxxxxxxx").unwrap_err(), GgufError::Magic);
}

#[test]
fn case_m08_claims_are_checked_against_the_bytes_left() {
    let cut = |file: &File| {
        let error = whole(&file.bytes()).unwrap_err();
        let why = matches!(&error, GgufError::Broken(why) if why.contains("more bytes than any file has"));
        let cut = matches!(error, GgufError::HeaderCut { .. } | GgufError::DataCut { .. });
        assert!(why || cut, "{error}");
    };
    for claim in [1 << 32, 1 << 62, 1 << 63, u64::MAX] {
        cut(&File { key_count: Some(claim), ..good() });
        cut(&File { tensor_count: Some(claim), ..good() });
        for kind in [0, 4, 8, 9, 12] {
            cut(&File::new(vec![array("a", kind, claim)], vec![], 0));
        }
        let long =
            [string("general.architecture"), 8_u32.to_le_bytes().to_vec(), claim.to_le_bytes().to_vec()];
        cut(&File::new(vec![long.concat()], vec![], 0));
        cut(&File::new(vec![claim.to_le_bytes().to_vec()], vec![], 0));
        cut(&File::new(keys("llama"), vec![tensor("t", &[8], 0, claim & !31)], 128));
        let shape =
            whole(&File::new(keys("llama"), vec![tensor("t", &[claim, 8], 0, 0)], 128).bytes()).unwrap_err();
        assert!(matches!(shape, GgufError::Broken(_) | GgufError::DataCut { .. }), "{shape}");
    }
}

#[test]
fn case_m08_broken_headers() {
    let mut nest = [string("a"), 9_u32.to_le_bytes().to_vec()].concat();
    for _ in 0..1000 {
        nest.extend([9_u32.to_le_bytes().to_vec(), 1_u64.to_le_bytes().to_vec()].concat());
    }
    let t = || vec![tensor("t", &[8, 4], 0, 0)];
    let with = |extra: Vec<u8>| File::new([keys("llama"), vec![extra]].concat(), t(), 128);
    let mut broken = vec![
        (File::new(vec![nest], vec![], 0), "deep"),
        (with(text("general.alignment", "32")), "alignment"),
        (with(text("general.name", "again")), "twice"),
        (with([string("a"), 13_u32.to_le_bytes().to_vec(), vec![0; 8]].concat()), "unknown type 13"),
        (with(array("a", 77, 0)), "unknown type 77"),
        (with([string(""), vec![0; 16]].concat()), "a key of 0 bytes"),
        (File::new(keys("llama"), vec![tensor("t", &[8, 4], 0, 1)], 128), "off the alignment"),
        (File::new(keys("llama"), vec![tensor("t", &[], 0, 0)], 128), "0 dimensions"),
        (File::new(keys("llama"), vec![tensor("t", &[1, 1, 1, 1, 1], 0, 0)], 128), "5 dimensions"),
        (File::new(keys("llama"), vec![tensor("t", &[31, 2], 2, 0)], 128), "impossible shape"),
        (File::new(keys("llama"), vec![tensor("t", &[1 << 63, 2], 0, 0)], 128), "impossible shape"),
    ];
    for alignment in [0, 3, 1 << 30, 1 << 31] {
        broken.push((with(u32_value("general.alignment", alignment)), "alignment"));
    }
    for (file, what) in broken {
        let error = whole(&file.bytes()).unwrap_err();
        assert!(matches!(&error, GgufError::Broken(why) if why.contains(what)), "{what}: {error}");
        assert_eq!(error.refusal("m.gguf").code, "bad_model");
    }
    // A type of a later ggml has an unknown size: that is for the library to judge.
    let later = File::new(keys("llama"), vec![tensor("t", &[8], 99, 0)], 32).bytes();
    assert_eq!(whole(&later).unwrap().tensors[0].bytes, None);
}

#[test]
fn case_m10_an_unknown_architecture_is_the_librarys_to_judge() {
    let bytes = File::new(keys("newmoe"), vec![tensor("t", &[8, 4], 0, 0)], 128).bytes();
    let header = whole(&bytes).unwrap();
    assert_eq!((header.architecture(), header.servable("x")), (Some("newmoe"), Ok(())));
}

#[test]
fn case_m13_parts_are_looked_up_beside_the_name_given() {
    let part = |number: u32| {
        let split = vec![u32_value("split.no", number), u32_value("split.count", 2)];
        whole(&File::new([keys("llama"), split].concat(), vec![tensor("t", &[8, 4], 0, 0)], 128).bytes())
            .unwrap()
    };
    assert_eq!(part(0).split(), Some((0, 2)));
    assert_eq!(part(0).servable("s/m-00001-of-00002.gguf"), Ok(()));
    let names = part(0).parts("s/m-00001-of-00002.gguf");
    assert_eq!(names, ["s/m-00001-of-00002.gguf", "s/m-00002-of-00002.gguf"]);
    let found = |sizes: [Option<u64>; 2]| -> Vec<Entry> {
        names.iter().zip(sizes).map(|(name, size)| Entry { name: name.clone(), size }).collect()
    };
    let whole = |sizes| complete(&names[0], names.iter().map(String::as_str), &found(sizes));
    assert_eq!(whole([Some(1), Some(1)]), Ok(()));
    let dangling = whole([Some(1), None]).unwrap_err();
    assert_eq!(
        dangling.message,
        "s/m-00001-of-00002.gguf lacks 1 of its 2 weight files: s/m-00002-of-00002.gguf"
    );
    let blob = part(0).servable("blobs/0f0f").unwrap_err();
    assert!(blob.hints[0].contains("-00001-of-00002.gguf"), "{:?}", blob.hints);
    let second = part(1).servable("s/m-00002-of-00002.gguf").unwrap_err();
    assert_eq!(second.message, "s/m-00002-of-00002.gguf is part 2 of 2 of a split model");
    assert_eq!(second.hints, ["pass the first part: s/m-00001-of-00002.gguf"]);
}
