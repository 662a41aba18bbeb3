//! Which machine gets which baseRT engine, and by whose digest.

use crate::host::{DRIVER, facts, module};
use superfluid_core::Refusal;
use superfluid_core::host::{Answer, Arch, HostFacts, Os};
use superfluid_core::install::{Planning, Recipe, Request, Source, Trust, plan};
use superfluid_core::runtime::RuntimeId;

fn request() -> Request {
    Request::new(RuntimeId::Basert)
}

fn version(version: &str) -> Request {
    Request { version: Some(version.into()), ..request() }
}

fn mac() -> HostFacts {
    facts(Os::Macos, Arch::Arm64, &[])
}

fn arm(answers: &[(&str, Answer)]) -> HostFacts {
    facts(Os::Linux, Arch::Arm64, answers)
}

fn planned(request: &Request, facts: &HostFacts) -> Result<Planning, Refusal> {
    let recipe = Recipe::of(RuntimeId::Basert).expect("a recipe");
    // The release page is never asked.
    assert_eq!(plan::wants_listing(request, &recipe).unwrap_or(None), None);
    plan::plan(request, facts, &recipe)
}

fn code(request: &Request, facts: &HostFacts) -> String {
    planned(request, facts).expect_err("it is refused").code.to_string()
}

#[test]
fn row_d6_two_kinds_of_machine_have_an_engine() {
    let driver = [(DRIVER, module("580.65.06"))];
    for (facts, name, file) in [
        (mac(), "0.3.0-metal", "basert-engine-macos-arm64-0.3.0.tar.gz"),
        (arm(&driver), "0.3.0-cuda", "basert-engine-linux-arm64-cuda-0.3.0.tar.gz"),
    ] {
        let planning = planned(&request(), &facts).expect("it has one");
        let [plan] = &planning.plans[..] else { panic!("one plan, no fallback") };
        let asset = &plan.assets[0];
        assert_eq!((plan.name.as_str(), asset.name.as_str(), asset.trust), (name, file, Some(Trust::Recipe)));
        let url = format!("https://github.com/basecompute/baseRT/releases/download/v0.3.0/{file}");
        assert_eq!(asset.source, Source::Url { url });
        assert!(planning.warnings.is_empty());
    }
}

#[test]
fn row_d6_every_other_machine_is_refused_also_with_an_archive_of_ones_own() {
    let driver = [(DRIVER, module("580.65.06"))];
    let own = Request { from: Some("/tmp/engine.tar.gz".into()), ..request() };
    for facts in [
        arm(&[]),
        arm(&[(DRIVER, Answer::TimedOut), ("nvidia-smi", Answer::TimedOut)]),
        facts(Os::Linux, Arch::X64, &driver),
        facts(Os::Macos, Arch::X64, &[]),
    ] {
        assert_eq!(code(&request(), &facts), "unsupported_machine");
        assert_eq!(code(&own, &facts), "unsupported_machine");
    }
    assert_eq!(planned(&own, &arm(&driver)).expect("it fits").plans[0].name.as_str(), "0.3.0-cuda");
    let cpu = Request { backend: Some("cpu".into()), ..request() };
    assert_eq!(code(&cpu, &mac()), "no_build");
}

#[test]
fn row_d7_a_release_is_tested_when_major_and_minor_match_the_headers() {
    for other in ["0.4.0", "0.2.6", "0.30.0", "1.3.0", "0.3x", "x"] {
        assert_eq!(code(&version(other), &mac()), "untested_version", "{other}");
    }
    // Tested, but nobody has pinned it.
    assert_eq!(code(&version("0.3.1"), &mac()), "no_pin");
    let planning = planned(&Request { untested: true, ..version("0.4.0") }, &mac()).expect("it is pinned");
    assert_eq!(planning.plans[0].assets[0].trust, Some(Trust::Recipe));
    assert!(planning.warnings[0].contains("may not load"), "{:?}", planning.warnings);
}

#[test]
fn row_d8_without_a_pin_version_and_digest_are_both_the_users() {
    let digest = "a".repeat(64);
    let with = |request: Request| Request { sha256: Some(digest.clone()), ..request };
    let asset = planned(&with(version("0.3.1")), &mac()).expect("both are given").plans[0].assets[0].clone();
    assert_eq!((asset.sha256.as_ref(), asset.trust, asset.size), (Some(&digest), Some(Trust::User), None));
    // A pin is not talked over.
    assert_eq!(code(&with(version("0.3.0")), &mac()), "wrong_sha256");
    assert_eq!(code(&with(request()), &mac()), "wrong_sha256");
    let untested = Request { untested: true, ..version("0.5.0") };
    assert_eq!(code(&untested, &mac()), "no_pin");
    let refusal = planned(&untested, &mac()).expect_err("no digest");
    assert!(refusal.hints[0].contains("--version 0.5.0 --sha256 H"), "{:?}", refusal.hints);
    assert!(
        refusal.hints[0].contains("basert-engine-macos-arm64-0.5.0.tar.gz.sha256"),
        "{:?}",
        refusal.hints
    );
    assert!(planned(&with(untested), &mac()).is_ok());
}
