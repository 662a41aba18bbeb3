//! The NVIDIA driver, and everything that is taken for one.

use super::{DRIVER, linux, module, ran, text};
use superfluid_core::host::{Answer, DriverVersion, Finding, HostFacts};

fn version(facts: &HostFacts) -> Option<String> {
    facts.nvidia.value().map(|driver| driver.version.to_string())
}

fn trouble(facts: &HostFacts) -> String {
    facts.nvidia.value().and_then(|driver| driver.trouble.clone()).unwrap_or_default()
}

#[test]
fn case_b04_driver_strings() {
    let table = [
        ("470.256", Some(470)),
        ("524.99", Some(524)),
        ("525.0", Some(525)),
        ("525.60.13", Some(525)),
        ("579.99", Some(579)),
        ("580", Some(580)),
        ("580.65.06", Some(580)),
        ("580.142", Some(580)),
        ("595.71.05", Some(595)),
        ("", None),
        ("N/A", None),
        ("[N/A]", None),
        ("580.xx", None),
        ("0580.1", None),
        ("580.", None),
        ("-580.1", None),
        ("99999999999.1", None),
        ("1.2.3.4.5", None),
    ];
    for (text, major) in table {
        assert_eq!(DriverVersion::parse(text).map(|version| version.major()), major, "{text:?}");
    }
}

#[test]
fn kernel_module_texts() {
    for (line, expected) in [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024",
            "470.256.02",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build", "580.65.06"),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.71.05  Tue Mar  3 01:02:03 UTC 2026",
            "595.71.05",
        ),
    ] {
        let facts = linux(&[(DRIVER, text(line))]);
        assert_eq!(version(&facts).as_deref(), Some(expected), "{line}");
        assert_eq!(trouble(&facts), "");
        assert_eq!(facts.nvidia.source, DRIVER);
    }
    let odd = linux(&[(DRIVER, text("NVRM version: none\n"))]);
    assert!(matches!(odd.nvidia.finding, Finding::Unknown(_)));
}

#[test]
fn case_b01_a_library_is_not_a_driver() {
    let cache = "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n";
    let facts = linux(&[("/sbin/ldconfig", ran(0, cache, ""))]);
    assert_eq!(facts.nvidia.finding, Finding::Absent);
}

#[test]
fn case_b01_the_subsystem_for_windows_has_no_kernel_file() {
    let facts = linux(&[("/usr/lib/wsl/lib/nvidia-smi", ran(0, "545.23\n545.23\n", ""))]);
    assert_eq!(version(&facts).as_deref(), Some("545.23"));
    assert_eq!(facts.nvidia.source, "/usr/lib/wsl/lib/nvidia-smi");
}

#[test]
fn case_b03_user_space_of_another_version() {
    let said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107\n";
    let facts = linux(&[(DRIVER, module("550.90.07")), ("nvidia-smi", ran(18, said, ""))]);
    assert_eq!(version(&facts).as_deref(), Some("550.90.07"));
    let why = trouble(&facts);
    assert!(why.contains("Driver/library version mismatch") && why.contains("restart"), "{why}");

    let alone = linux(&[("nvidia-smi", ran(18, said, ""))]);
    assert!(matches!(&alone.nvidia.finding, Finding::Unknown(why) if why.contains("mismatch")));
}

#[test]
fn a_driver_without_a_card() {
    for (code, said) in
        [(6, "No devices were found\n"), (9, "NVIDIA-SMI has failed because it couldn't communicate\n")]
    {
        let facts = linux(&[(DRIVER, module("580.65.06")), ("nvidia-smi", ran(code, said, ""))]);
        assert!(trouble(&facts).contains(said.trim()), "{}", trouble(&facts));
    }
    let silent = linux(&[(DRIVER, module("580.65.06")), ("nvidia-smi", ran(127, "", ""))]);
    assert!(trouble(&silent).contains("127"));
}

#[test]
fn a_probe_that_timed_out_is_unknown_not_absent() {
    let facts = linux(&[("nvidia-smi", Answer::TimedOut)]);
    assert_eq!(facts.nvidia.finding, Finding::Unknown("timed out".into()));
    // A slow answer says nothing against a module that is loaded.
    let loaded = linux(&[(DRIVER, module("580.65.06")), ("nvidia-smi", Answer::TimedOut)]);
    assert_eq!(trouble(&loaded), "");
    let denied = linux(&[(DRIVER, Answer::Failed { why: "permission denied".into() })]);
    assert_eq!(denied.nvidia.finding, Finding::Unknown("permission denied".into()));
}

#[test]
fn what_a_tool_prints_is_escaped_and_bounded() {
    let noise = format!("\u{1b}[2Jboom{}", "x".repeat(10_000));
    let facts = linux(&[("nvidia-smi", ran(1, &noise, ""))]);
    let Finding::Unknown(why) = facts.nvidia.finding else { panic!("{:?}", facts.nvidia) };
    assert!(!why.contains('\u{1b}') && why.len() < 300, "{why}");
}
