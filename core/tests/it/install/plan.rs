//! Which builds a machine gets, in which order, and why.

use crate::host::{DRIVER, facts, linux, module, names, ran};
use proptest::prelude::*;
use superfluid_core::host::{Answer, Arch, HostFacts, Os};
use superfluid_core::install::{Planning, Recipe, Request, plan};
use superfluid_core::runtime::RuntimeId;

pub(super) fn request() -> Request {
    Request::new(RuntimeId::Llamacpp)
}

pub(super) fn recipe() -> Recipe {
    Recipe::of(RuntimeId::Llamacpp).unwrap()
}

fn planned(facts: &HostFacts) -> Planning {
    plan::plan(&request(), facts, &recipe()).unwrap()
}

fn order(planning: &Planning) -> Vec<&str> {
    planning.plans.iter().map(|plan| plan.name.as_str()).collect()
}

fn reason<'a>(planning: &'a Planning, backend: &str) -> &'a str {
    let candidate = planning.candidates.iter().find(|candidate| candidate.backend == backend);
    candidate.map_or("", |candidate| candidate.reason.as_str())
}

type Answers = Vec<(&'static str, Answer)>;

fn vulkan() -> Answers {
    let cache = "\tlibvulkan.so.1 (libc6,x86-64,AArch64) => /lib/libvulkan.so.1\n";
    vec![("/sbin/ldconfig", ran(0, cache, "")), ("/usr/share/vulkan/icd.d", names(&["a.json"]))]
}

fn rocm() -> Answers {
    vec![("/dev/kfd", Answer::Present), ("/opt/rocm", Answer::Present)]
}

fn with(parts: &[Answers]) -> Answers {
    parts.concat()
}

#[test]
fn row_d2_the_table() {
    let nvidia = |version: &str| vec![(DRIVER, module(version))];
    let x64 = |answers: Answers| facts(Os::Linux, Arch::X64, &answers);
    let arm = |answers: Answers| facts(Os::Linux, Arch::Arm64, &answers);
    let mac = |arch| facts(Os::Macos, arch, &[]);
    let none = Answers::new;
    for (machine, expected) in [
        (mac(Arch::Arm64), vec!["b11284-metal"]),
        (mac(Arch::X64), vec!["b11284-cpu"]),
        (x64(none()), vec!["b11284-cpu"]),
        (arm(none()), vec!["b11284-cpu"]),
        (x64(vulkan()), vec!["b11284-vulkan", "b11284-cpu"]),
        (arm(vulkan()), vec!["b11284-vulkan", "b11284-cpu"]),
        (x64(with(&[rocm(), vulkan()])), vec!["b11284-rocm", "b11284-vulkan", "b11284-cpu"]),
        (x64(rocm()), vec!["b11284-rocm", "b11284-cpu"]),
        (arm(rocm()), vec!["b11284-cpu"]),
        (x64(nvidia("580.65.06")), vec!["b11284-cuda", "b11284-cpu"]),
        (
            x64(with(&[nvidia("525.60.13"), rocm(), vulkan()])),
            vec!["b11284-cuda", "b11284-rocm", "b11284-vulkan", "b11284-cpu"],
        ),
        // b11284 has only cuda-13.4 for arm64.
        (arm(with(&[nvidia("550.90.07"), vulkan()])), vec!["b11284-vulkan", "b11284-cpu"]),
        (arm(nvidia("580.1")), vec!["b11284-cuda", "b11284-cpu"]),
        (x64(with(&[nvidia("470.256"), vulkan()])), vec!["b11284-vulkan", "b11284-cpu"]),
    ] {
        assert_eq!(order(&planned(&machine)), expected, "{machine:?}");
    }
}

#[test]
fn case_b04_the_newest_cuda_a_driver_runs() {
    for (driver, expected) in [
        ("470.256", None),
        ("524.99", None),
        ("525.0", Some("cuda-12.8")),
        ("525.60.13", Some("cuda-12.8")),
        ("579.99", Some("cuda-12.8")),
        ("580", None), // a module's text always has a point: not a version there
        ("580.65.06", Some("cuda-13.4")),
        ("580.142", Some("cuda-13.4")),
        ("595.71.05", Some("cuda-13.4")),
        ("", None),
        ("N/A", None),
        ("580.xx", None),
        ("0580.1", None),
    ] {
        let planning = planned(&linux(&[(DRIVER, module(driver))]));
        let cuda = planning.candidates.iter().find(|candidate| candidate.backend == "cuda").unwrap();
        let build = cuda.plan.and(cuda.build.as_deref());
        assert_eq!(build, expected, "{driver:?}: {}", cuda.reason);
        assert!(!cuda.reason.is_empty() && !cuda.source.is_empty());
        assert_eq!(order(&planning).last(), Some(&"b11284-cpu"));
    }
}

#[test]
fn case_b03_an_unusable_driver_is_named_and_passed_over() {
    let said = "Failed to initialize NVML: Driver/library version mismatch\n";
    let planning = planned(&linux(&[(DRIVER, module("550.90.07")), ("nvidia-smi", ran(18, said, ""))]));
    assert_eq!(order(&planning), ["b11284-cpu"]);
    let why = reason(&planning, "cuda");
    assert!(why.contains("550.90.07") && why.contains("mismatch") && why.contains("restart"), "{why}");
}

#[test]
fn case_b05_sycl_is_never_chosen() {
    let planning = planned(&linux(&vulkan()));
    assert_eq!(order(&planning), ["b11284-vulkan", "b11284-cpu"]);
    assert_eq!(reason(&planning, "sycl"), "installed only with --backend sycl");
    assert_eq!(reason(&planning, "openvino"), "installed only with --backend openvino");
    assert_eq!(reason(&planning, "rocm"), "no ROCm");
    assert_eq!(reason(&planning, "cuda"), "no NVIDIA driver");
}

#[test]
fn row_d3_named_backends() {
    for (named, install, first) in [
        ("sycl", "b11284-sycl", "llama-b11284-bin-ubuntu-sycl-fp32-x64.tar.gz"),
        ("sycl-fp16", "b11284-sycl", "llama-b11284-bin-ubuntu-sycl-fp16-x64.tar.gz"),
        ("openvino", "b11284-openvino", "llama-b11284-bin-ubuntu-openvino-2026.4-x64.tar.gz"),
        ("cpu", "b11284-cpu", "llama-b11284-bin-ubuntu-x64.tar.gz"),
        ("vulkan", "b11284-vulkan", "llama-b11284-bin-ubuntu-vulkan-x64.tar.gz"),
        ("cuda-13.4", "b11284-cuda", "llama-b11284-bin-ubuntu-cuda-13.4-x64.tar.gz"),
        // No driver to go by: the build that the most drivers run.
        ("cuda", "b11284-cuda", "llama-b11284-bin-ubuntu-cuda-12.8-x64.tar.gz"),
    ] {
        let request = Request { backend: Some(named.into()), ..request() };
        let planning = plan::plan(&request, &linux(&[]), &recipe()).unwrap();
        assert_eq!(order(&planning), [install], "no fallback for {named}");
        assert_eq!(planning.plans[0].assets[0].name, first);
    }
}

#[test]
fn case_i08_a_named_backend_without_a_build_is_refused() {
    let refuse = |backend: &str, facts: &HostFacts| {
        plan::plan(&Request { backend: Some(backend.into()), ..request() }, facts, &recipe()).unwrap_err()
    };
    let mac = facts(Os::Macos, Arch::Arm64, &[]);
    let refusal = refuse("vulkan", &mac);
    assert_eq!(refusal.code, "no_build");
    assert_eq!(refusal.message, "llamacpp b11284 has no vulkan build for macos-arm64");
    assert_eq!(refusal.hints, ["for macos-arm64 it has metal"]);
    assert_eq!(refuse("cuda-12.6", &linux(&[])).hints, ["it has cuda-12.8: pass --backend cuda-12.8"]);
    let old = refuse("cuda", &linux(&[(DRIVER, module("470.256.02"))]));
    assert!(old.message.contains("470.256.02") && old.message.contains("525"), "{}", old.message);
    assert_eq!(refuse("../cuda", &mac).code, "bad_backend");
    let strange = facts(Os::Other("freebsd".into()), Arch::X64, &[]);
    let refusal = plan::plan(&request(), &strange, &recipe()).unwrap_err();
    assert_eq!(refusal.message, "llamacpp b11284 has no build for freebsd-x64");
}

#[test]
fn cuda_brings_its_libraries_unless_the_system_has_that_major() {
    let assets = |answers: &[(&str, Answer)]| {
        let plan = planned(&linux(answers)).plans.remove(0);
        plan.assets.into_iter().map(|asset| asset.name).collect::<Vec<_>>()
    };
    let main = "llama-b11284-bin-ubuntu-cuda-12.8-x64.tar.gz".to_string();
    let companion = format!("cudart-{main}");
    let cache = |major: u32| {
        let line = |name: &str| format!("\t{name}.so.{major} (libc6,x86-64) => /x/{name}.so.{major}\n");
        ran(0, &(line("libcudart") + &line("libcublas")), "")
    };
    let driver = (DRIVER, module("550.90.07"));
    assert_eq!(assets(std::slice::from_ref(&driver)), [main.clone(), companion.clone()]);
    assert_eq!(assets(&[driver.clone(), ("/sbin/ldconfig", cache(13))]), [main.clone(), companion]);
    assert_eq!(assets(&[driver, ("/sbin/ldconfig", cache(12))]), [main]);
}

#[test]
fn row_d1_another_version_needs_untested() {
    let other = Request { version: Some("b11292".into()), ..request() };
    let refusal = plan::wants_listing(&other, &recipe()).unwrap_err();
    assert_eq!(refusal.code, "untested_version");
    assert!(refusal.message.contains("b11284") && refusal.hints[0].contains("--untested"));
    let untested = Request { untested: true, ..other };
    assert_eq!(plan::wants_listing(&untested, &recipe()), Ok(Some("b11292")));
    assert_eq!(plan::plan(&untested, &linux(&[]), &recipe()).unwrap_err().code, "unknown_release");
    let same = Request { version: Some("b11284".into()), ..request() };
    assert_eq!(plan::wants_listing(&same, &recipe()), Ok(None));
    assert_eq!(order(&plan::plan(&same, &linux(&[]), &recipe()).unwrap()), ["b11284-cpu"]);
}

#[test]
fn planned_assets_are_pinned_and_https() {
    let planning = planned(&linux(&with(&[vec![(DRIVER, module("580.1"))], rocm(), vulkan()])));
    for asset in planning.plans.iter().flat_map(|plan| &plan.assets) {
        let superfluid_core::install::Source::Url { url } = &asset.source else { panic!("{asset:?}") };
        assert!(url.starts_with("https://") && url.ends_with(&asset.name) && url.contains("/b11284/"));
        assert!(asset.size.is_some() && asset.sha256.as_ref().is_some_and(|digest| digest.len() == 64));
    }
    let snapshot: Vec<String> = planning
        .candidates
        .iter()
        .map(|candidate| {
            let verdict = candidate.plan.map_or("refused".into(), |plan| format!("plan {plan}"));
            format!("{} {verdict}: {} [{}]", candidate.backend, candidate.reason, candidate.source)
        })
        .collect();
    insta::assert_snapshot!(snapshot.join("\n"), @r"
    cuda plan 0: NVIDIA driver 580.1 runs cuda-13.4 [/proc/driver/nvidia/version]
    rocm plan 1: ROCm is there [/dev/kfd, /opt/rocm]
    vulkan plan 2: a Vulkan loader is there [libvulkan.so.1, /usr/share/vulkan/icd.d/a.json]
    cpu plan 3: runs on any machine [linux-x64]
    sycl refused: installed only with --backend sycl [the recipe]
    openvino refused: installed only with --backend openvino [the recipe]
    ");
}

proptest! {
    /// Whatever was asked on whatever machine, planning answers: a list that is not empty, every
    /// plan judged and named by its rules, or a refusal with a code and a hint or message.
    #[test]
    fn planning_is_total(
        version in proptest::option::of("[b.0-9/A-Za-z-]{0,12}|b11284"),
        backend in proptest::option::of("[a-z0-9./-]{0,10}|cuda|cpu|vulkan|sycl"),
        from in proptest::option::of(".{0,30}|https://[a-z./]{0,20}|llama-b1-bin-(macos|ubuntu)-[a-z0-9-]{0,12}.tar.gz"),
        sha256 in proptest::option::of("[0-9a-fA-F]{62,66}|sha256:[0-9a-f]{64}"),
        untested: bool,
        driver in "[0-9.]{0,10}|580\\.[0-9]{1,3}|.{0,20}",
        os in prop_oneof![Just(Os::Linux), Just(Os::Macos), Just(Os::Other("plan9".into()))],
        arm: bool,
    ) {
        let arch = if arm { Arch::Arm64 } else { Arch::X64 };
        let machine = facts(os, arch, &with(&[vec![(DRIVER, module(&driver))], vulkan()]));
        let request = Request { version, backend, from, sha256, untested, ..request() };
        match plan::plan(&request, &machine, &recipe()) {
            Err(refusal) => prop_assert!(!refusal.code.is_empty() && !refusal.message.is_empty()),
            Ok(planning) => {
                prop_assert!(!planning.plans.is_empty());
                let one = request.backend.is_some() || request.from.is_some();
                prop_assert!(!one || planning.plans.len() == 1);
                let indices: Vec<usize> = planning.candidates.iter().filter_map(|c| c.plan).collect();
                prop_assert_eq!(indices, (0..planning.plans.len()).collect::<Vec<_>>());
                for plan in &planning.plans {
                    prop_assert_eq!(plan.name.as_str(), format!("{}-{}", plan.version, plan.backend));
                    prop_assert!(!plan.assets.is_empty());
                    for asset in &plan.assets {
                        let url = matches!(asset.source, superfluid_core::install::Source::Url { .. });
                        prop_assert!(!url || asset.sha256.is_some());
                        prop_assert_eq!(asset.sha256.is_some(), asset.trust.is_some());
                    }
                }
            }
        }
    }
}
