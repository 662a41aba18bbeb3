//! `--from`: the user's own archive.

use super::plan::{recipe, request};
use crate::host::{facts, linux};
use superfluid_core::Refusal;
use superfluid_core::host::{Arch, Os};
use superfluid_core::install::{Planning, Request, Source, Trust, plan};

const DIGEST: &str = "f53f2534e7ac8df1ef056117d215f1581feb6c426310d6423efac9adcdd5c2c8";

fn from(from: &str) -> Request {
    Request { from: Some(from.into()), ..request() }
}

fn linux_plan(request: &Request) -> Result<Planning, Refusal> {
    plan::plan(request, &linux(&[]), &recipe())
}

fn name(planning: &Planning) -> &str {
    planning.plans[0].name.as_str()
}

#[test]
fn row_b11_an_archive_from_elsewhere_needs_a_digest() {
    let refusal = linux_plan(&from("https://127.0.0.1/x.tar.gz")).unwrap_err();
    assert_eq!(refusal.code, "unchecked_archive");
    assert!(refusal.message.contains("x.tar.gz") && refusal.hints[0].contains("--sha256"));
    let known = linux_plan(&from("https://127.0.0.1/llama-b11284-bin-ubuntu-x64.tar.gz")).unwrap_err();
    assert!(known.hints[0].contains(DIGEST), "{:?}", known.hints);

    let checked = Request { sha256: Some(DIGEST.into()), ..from("https://127.0.0.1/x.tar.gz?a=b#c") };
    let planning = linux_plan(&checked).unwrap();
    let asset = &planning.plans[0].assets[0];
    assert_eq!(asset.source, Source::Url { url: "https://127.0.0.1/x.tar.gz?a=b#c".into() });
    assert_eq!((asset.name.as_str(), asset.trust), ("x.tar.gz", Some(Trust::User)));
    assert_eq!((name(&planning), planning.warnings.len()), ("b11284-cpu", 0));
}

#[test]
fn row_b11_a_local_file_without_a_digest_installs_with_a_warning() {
    let planning = linux_plan(&from("./my build.tar.gz")).unwrap();
    assert_eq!(planning.warnings, ["my build.tar.gz is installed unchecked: no --sha256 was given"]);
    let asset = &planning.plans[0].assets[0];
    assert_eq!(asset.source, Source::File { path: "./my build.tar.gz".into() });
    assert_eq!((asset.name.as_str(), &asset.sha256, asset.trust), ("archive.tar.gz", &None, None));
}

#[test]
fn row_b10_https_only() {
    for address in
        ["http://a/b.tgz", "ftp://a/b", "file:///a/b", "HTTP://a/b", "https://", "https://a b", "s3://x"]
    {
        let request = Request { sha256: Some(DIGEST.into()), ..from(address) };
        assert_eq!(linux_plan(&request).unwrap_err().code, "bad_source", "{address}");
    }
    assert_eq!(linux_plan(&from("")).unwrap_err().code, "bad_source");
}

#[test]
fn case_x09_credentials_in_an_address_are_refused_and_not_repeated() {
    for address in ["https://me:secret@a/b.tgz", "HTTPS://secret@a", "https://a:secret@b?x=/"] {
        let refusal = linux_plan(&Request { sha256: Some(DIGEST.into()), ..from(address) }).unwrap_err();
        assert_eq!(refusal.code, "bad_source", "{address}");
        assert!(!format!("{refusal:?}").contains("secret"), "{refusal:?}");
    }
    let later = Request { sha256: Some(DIGEST.into()), ..from("https://a/b@1.tgz") };
    assert!(linux_plan(&later).is_ok());
}

#[test]
fn what_an_archives_name_says() {
    let untested = |path: &str| Request { untested: true, ..from(path) };
    for (path, expected) in [
        ("/d/llama-b11292-bin-ubuntu-x64.tar.gz", "b11292-cpu"),
        ("/d/llama-b11292-bin-ubuntu-vulkan-x64.tar.gz", "b11292-vulkan"),
        ("/d/llama-b11292-bin-ubuntu-cuda-13.4-x64.tar.gz", "b11292-cuda"),
        ("/d/llama-b11292-bin-macos-arm64.tar.gz", "b11292-metal"),
        ("/d/linux-x64-3.22.1.tgz", "b11284-cpu"),
        ("/d/llama-..-bin-ubuntu-x64.tar.gz", "b11284-cpu"),
    ] {
        assert_eq!(name(&linux_plan(&untested(path)).unwrap()), expected, "{path}");
    }
    let mac = facts(Os::Macos, Arch::Arm64, &[]);
    assert_eq!(name(&plan::plan(&from("x.tgz"), &mac, &recipe()).unwrap()), "b11284-metal");
    let alone = linux_plan(&from("cudart-llama-b11284-bin-ubuntu-cuda-12.8-x64.tar.gz")).unwrap_err();
    assert_eq!(alone.code, "not_a_runtime");
}

#[test]
fn flags_win_over_the_name_and_a_contradiction_is_told() {
    let request = Request {
        version: Some("b11200".into()),
        backend: Some("vulkan".into()),
        untested: true,
        ..from("llama-b11292-bin-macos-arm64.tar.gz")
    };
    let planning = linux_plan(&request).unwrap();
    assert_eq!(name(&planning), "b11200-vulkan");
    assert_eq!(planning.warnings.len(), 4, "{:?}", planning.warnings);
}

#[test]
fn row_d1_an_archive_of_another_version_needs_untested() {
    for request in
        [from("llama-b11292-bin-ubuntu-x64.tar.gz"), Request { version: Some("b1".into()), ..from("x.tgz") }]
    {
        assert_eq!(linux_plan(&request).unwrap_err().code, "untested_version");
    }
    assert!(linux_plan(&from("llama-b11284-bin-ubuntu-x64.tar.gz")).is_ok());
}

#[test]
fn case_i17_digests() {
    let with = |sha256: &str| Request { sha256: Some(sha256.into()), ..from("x.tgz") };
    for good in [DIGEST.to_string(), DIGEST.to_uppercase(), format!("sha256:{DIGEST}")] {
        let planning = linux_plan(&with(&good)).unwrap();
        assert_eq!(planning.plans[0].assets[0].sha256.as_deref(), Some(DIGEST));
        assert!(planning.warnings.is_empty());
    }
    for (bad, why) in [
        ("", "empty"),
        (&DIGEST[1..], "63 digits"),
        (&format!("{DIGEST}0"), "65 digits"),
        (&format!(" {DIGEST}"), "white space"),
        (&format!("{} {}", &DIGEST[..32], &DIGEST[33..]), "white space"),
        (&DIGEST.replace('f', "g"), "hex digits"),
        ("sha512:00", "hex digits"),
    ] {
        let refusal = linux_plan(&with(bad)).unwrap_err();
        assert_eq!(refusal.code, "bad_sha256", "{bad}");
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }
    let lone = Request { sha256: Some(DIGEST.into()), ..request() };
    assert_eq!(linux_plan(&lone).unwrap_err().code, "sha256_without_from");
}
