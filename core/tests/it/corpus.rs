//! The fuzzers' corpora, committed beside them, as tests.

use std::path::Path;

/// Calls `play` with every file of a target's corpus.
pub(crate) fn each(target: &str, play: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut played = 0;
    for file in files {
        let path = file.expect("an entry").path();
        play(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        played += 1;
    }
    assert!(played > 0, "{} is empty", folder.display());
}
