//! Where members go: real archives' shapes.

use superfluid_core::install::archive::{Arrangement, Judged, Kind, Member, Shape, arrange, judge};

fn judged(files: &[&str]) -> Judged {
    let file = |path: &&str| Member { path: (*path).into(), kind: Kind::File { executable: false }, size: 1 };
    judge(files.iter().map(file).collect()).expect("honest names")
}

fn paths(all: &Arrangement) -> Vec<&str> {
    all.files.iter().flatten().map(|file| file.path.as_str()).collect()
}

const LLAMA: Shape<'static> = Shape { runtime: "llamacpp", library: "libllama", into: "" };

#[test]
fn a_release_archive_is_laid_flat_in_lib() {
    let all = arrange(
        &[judged(&[
            "llama-b11284/libllama.so",
            "llama-b11284/libggml-cpu-haswell.so",
            "llama-b11284/llama-cli",
            "llama-b11284/LICENSE",
        ])],
        LLAMA,
    )
    .expect("a release");
    assert_eq!(
        paths(&all),
        ["lib/libllama.so", "lib/libggml-cpu-haswell.so", "lib/llama-cli", "lib/LICENSE"]
    );
    assert_eq!(all.dirs, ["bin", "lib"]);
    assert!(!all.worker);
}

#[test]
fn the_folder_that_holds_the_library_is_laid_and_the_rest_left_out() {
    let all = arrange(
        &[judged(&[
            "package/package.json",
            "package/bins/linux-x64/libllama-common.so",
            "package/bins/linux-x64/libllama.v0.5.0.so",
            "package/bins/linux-x64/libggml-base.so",
            "package/bins/linux-x64/deep/libother.so",
        ])],
        LLAMA,
    )
    .expect("a package");
    assert_eq!(paths(&all), ["lib/libllama-common.so", "lib/libllama.v0.5.0.so", "lib/libggml-base.so"]);
}

#[test]
fn a_build_folder_of_libraries_and_a_mac_build_are_found() {
    for (names, want) in [
        (&["libllama.dylib", "libggml.dylib"][..], &["lib/libllama.dylib", "lib/libggml.dylib"][..]),
        (&["build/bin/libllama.so.0.9.4", "build/CMakeCache.txt"], &["lib/libllama.so.0.9.4"]),
        (&["lib/libllama.so", "lib/cmake/x.cmake", "include/llama.h"], &["lib/libllama.so"]),
    ] {
        assert_eq!(paths(&arrange(&[judged(names)], LLAMA).expect("a build")), want);
    }
}

#[test]
fn an_archive_with_bin_and_lib_keeps_its_shape() {
    let names =
        ["sf/bin/superfluid-worker-llamacpp", "sf/lib/libllama.so", "sf/share/doc/x", "sf/runtime.json"];
    let all = arrange(&[judged(&names)], LLAMA).expect("an install");
    assert_eq!(paths(&all), ["bin/superfluid-worker-llamacpp", "lib/libllama.so", "share/doc/x"]);
    assert!(all.worker, "it brings its own worker");
    assert!(all.files[0][0].executable, "the worker can run whatever its mode was");
    assert_eq!(all.dirs, ["bin", "lib", "share", "share/doc"]);
}

#[test]
fn where_two_archives_carry_one_name_the_first_wins() {
    let first = judged(&["llama-b1/libllama.so", "llama-b1/libcudart.so.13"]);
    let second = judged(&["cudart/libcudart.so.13", "cudart/libcublas.so.13"]);
    let all = arrange(&[first, second], LLAMA).expect("two archives");
    assert_eq!(all.files.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(paths(&all), ["lib/libllama.so", "lib/libcudart.so.13", "lib/libcublas.so.13"]);
}

#[test]
fn an_archive_without_the_library_is_refused_by_name() {
    let refusal = arrange(&[judged(&["x/readme.md"])], LLAMA).expect_err("no library");
    assert!(refusal.message.contains("libllama"), "{}", refusal.message);
    arrange(&[judged(&[])], LLAMA).expect_err("nothing in it");
}

#[test]
fn a_worker_that_is_a_link_is_no_worker() {
    let mut members = vec![
        Member { path: "sf/lib/libllama.so".into(), kind: Kind::File { executable: false }, size: 1 },
        Member { path: "sf/bin/t".into(), kind: Kind::File { executable: true }, size: 1 },
    ];
    members.push(Member {
        path: "sf/bin/superfluid-worker-llamacpp".into(),
        kind: Kind::Symlink { target: "t".into() },
        size: 0,
    });
    arrange(&[judge(members).expect("honest")], LLAMA).expect_err("a link");
}

#[test]
fn links_laid_flat_are_kept_where_what_they_name_is_laid() {
    let link = |path: &str, target: &str| Member {
        path: path.into(),
        kind: Kind::Symlink { target: target.into() },
        size: 0,
    };
    let mut members = judged(&["l/libllama.so.0.9", "l/share/x"]).members().to_vec();
    members.extend([
        link("l/libllama.so.0", "libllama.so.0.9"),
        link("l/libllama.so", "libllama.so.0"),
        link("l/x", "share/x"),
    ]);
    let all = arrange(&[judge(members).expect("honest")], LLAMA).expect("a release");
    let links: Vec<_> = all.links.iter().map(|link| (link.path.as_str(), link.target.as_str())).collect();
    assert_eq!(links, [("lib/libllama.so.0", "libllama.so.0.9"), ("lib/libllama.so", "libllama.so.0")]);
}
