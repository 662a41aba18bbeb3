//! Whole machines.

use super::{facts, linux, names, ran, text};
use superfluid_core::host::{Answer, Arch, Finding, Memory, Os, Probe, probes};

const CACHE: &str = "\
1234 libs found in cache `/etc/ld.so.cache'
\tlibvulkan.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libvulkan.so.1
\tlibvulkan.so.1 (libc6) => /lib/i386-linux-gnu/libvulkan.so.1
\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/targets/x86_64-linux/lib/libcudart.so.12
\tlibcublas.so.12 (libc6,x86-64) => /usr/local/cuda/targets/x86_64-linux/lib/libcublas.so.12
\tlibcudart.so.13 (libc6,x86-64) => /usr/local/cuda-13/lib64/libcudart.so.13
";

#[test]
fn an_empty_box() {
    let facts = linux(&[(
        "/proc/meminfo",
        text("MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:   8192000 kB\n"),
    )]);
    assert_eq!(facts.nvidia.finding, Finding::Absent);
    assert_eq!(facts.rocm.finding, Finding::Absent);
    assert_eq!(facts.vulkan.finding, Finding::Absent);
    assert_eq!(facts.cuda_runtimes.finding, Finding::Absent);
    assert_eq!(facts.platform().as_deref(), Some("linux-x64"));
    let memory = Memory { total: 16_384_000 * 1024, available: Some(8_192_000 * 1024) };
    assert_eq!(facts.memory.value(), Some(&memory));
}

#[test]
fn the_loader_knows_libraries() {
    let facts = linux(&[
        ("/sbin/ldconfig", ran(0, CACHE, "")),
        ("/etc/vulkan/icd.d", names(&["README", "radeon_icd.x86_64.json"])),
    ]);
    // 13 lacks cuBLAS.
    assert_eq!(facts.cuda_runtimes.value(), Some(&vec![12]));
    assert_eq!(facts.vulkan.source, "libvulkan.so.1, /etc/vulkan/icd.d/radeon_icd.x86_64.json");
}

#[test]
fn a_32_bit_loader_is_not_ours() {
    let cache = "\tlibvulkan.so.1 (libc6) => /lib/i386-linux-gnu/libvulkan.so.1\n";
    let icd = ("/usr/share/vulkan/icd.d", names(&["intel_icd.i686.json"]));
    let facts = linux(&[("/sbin/ldconfig", ran(0, cache, "")), icd]);
    assert_eq!(facts.vulkan.finding, Finding::Absent);
}

#[test]
fn vulkan_needs_a_driver_manifest() {
    let facts = linux(&[("/sbin/ldconfig", ran(0, CACHE, "")), ("/usr/share/vulkan/icd.d", names(&[]))]);
    assert_eq!(facts.vulkan.finding, Finding::Absent);
    let slow = linux(&[("/sbin/ldconfig", ran(0, CACHE, "")), ("/usr/share/vulkan/icd.d", Answer::TimedOut)]);
    assert!(matches!(slow.vulkan.finding, Finding::Unknown(_)));
}

#[test]
fn without_a_loader_cache_the_usual_folders_are_listed() {
    let icd = ("/usr/share/vulkan/icd.d", names(&["nouveau_icd.json"]));
    let musl = linux(&[("/usr/lib", names(&["libvulkan.so.1", "libvulkan.so.1.4.309"])), icd]);
    assert_eq!(musl.vulkan.finding, Finding::Known(()));
    let slow = linux(&[("/sbin/ldconfig", Answer::TimedOut)]);
    assert!(matches!(slow.vulkan.finding, Finding::Unknown(_)));
    assert!(matches!(slow.cuda_runtimes.finding, Finding::Unknown(_)));
}

#[test]
fn rocm_is_the_kernel_interface_and_the_files() {
    let both = linux(&[("/dev/kfd", Answer::Present), ("/opt/rocm", Answer::Present)]);
    assert_eq!(both.rocm.finding, Finding::Known(()));
    let kernel = linux(&[("/dev/kfd", Answer::Present)]);
    assert_eq!((kernel.rocm.finding, kernel.rocm.source.as_str()), (Finding::Absent, "/opt/rocm"));
    let slow = linux(&[("/dev/kfd", Answer::TimedOut), ("/opt/rocm", Answer::Present)]);
    assert!(matches!(slow.rocm.finding, Finding::Unknown(_)));
}

fn mac(built_for: Arch, arm64: Answer, translated: Answer) -> superfluid_core::host::HostFacts {
    let memory = ran(0, "17179869184\n", "");
    facts(
        Os::Macos,
        built_for,
        &[("hw.optional.arm64", arm64), ("sysctl.proc_translated", translated), ("hw.memsize", memory)],
    )
}

#[test]
fn case_b09_the_hardware_decides_what_a_mac_is() {
    let unknown_key = || ran(1, "", "sysctl: unknown oid 'sysctl.proc_translated'\n");
    let rosetta = mac(Arch::X64, ran(0, "1\n", ""), ran(0, "1\n", ""));
    assert!(rosetta.apple_silicon());
    assert_eq!(rosetta.platform().as_deref(), Some("macos-arm64"));
    // An old system that knows only one of the keys.
    assert!(mac(Arch::X64, unknown_key(), ran(0, "1\n", "")).apple_silicon());

    let intel = mac(Arch::X64, unknown_key(), unknown_key());
    assert!(!intel.apple_silicon());
    assert_eq!(intel.platform().as_deref(), Some("macos-x64"));
    assert!(!mac(Arch::X64, ran(0, "0\n", ""), ran(0, "0\n", "")).apple_silicon());

    assert!(mac(Arch::Arm64, ran(0, "1\n", ""), ran(0, "0\n", "")).apple_silicon());
    assert!(mac(Arch::Arm64, Answer::TimedOut, Answer::TimedOut).apple_silicon());

    let slow = mac(Arch::X64, Answer::TimedOut, unknown_key());
    assert!(matches!(slow.arch.finding, Finding::Unknown(_)));
    assert_eq!(slow.platform(), None);
    assert_eq!(intel.memory.value().map(|memory| memory.total), Some(16 << 30));
}

#[test]
fn every_probe_is_bounded_and_absolute_but_for_nvidia_smi() {
    for os in [Os::Linux, Os::Macos, Os::Other("freebsd".into())] {
        for probe in probes(&os, &Arch::Arm64) {
            match probe {
                Probe::ReadFile { path, max_bytes } => assert!(path.starts_with('/') && max_bytes <= 1 << 20),
                Probe::ListDir { path, .. } | Probe::Exists { path } => assert!(path.starts_with('/')),
                Probe::Run { program, limit_ms, max_bytes, .. } => {
                    assert!(program.starts_with('/') || program == "nvidia-smi", "{program}");
                    assert!((1..=10_000).contains(&limit_ms) && max_bytes <= 1 << 20);
                }
            }
        }
    }
}

#[test]
fn facts_survive_a_recording() {
    let facts = linux(&[("/sbin/ldconfig", ran(0, CACHE, "")), (super::DRIVER, super::module("580.65.06"))]);
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<superfluid_core::host::HostFacts>(&json).unwrap(), facts);
}
