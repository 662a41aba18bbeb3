//! Probes may answer anything.

use proptest::prelude::*;
use superfluid_core::host::{Answer, Arch, Finding, HostFacts, Os, Probe, Probed, probes};
use superfluid_core::install::plan::plan;
use superfluid_core::install::{Recipe, Request};
use superfluid_core::runtime::RuntimeId;

fn answers() -> impl Strategy<Value = Answer> {
    // Pieces of what real machines say, cut and joined at will.
    let piece = prop_oneof![
        "\\PC{0,12}",
        "[0-9]{1,4}(\\.[0-9]{1,4}){0,3}",
        Just("NVRM version: NVIDIA UNIX x86_64 Kernel Module  ".to_owned()),
        Just("\tlibcudart.so.13 (libc6,x86-64) => /usr/lib/libcudart.so.13\n".to_owned()),
        Just("libcublas.so.13\nlibvulkan.so.1 (libc6,x86-64) => ".to_owned()),
        Just("MemTotal:  ".to_owned()),
        Just(" kB\n".to_owned()),
        Just("nvidia_icd.json".to_owned()),
        Just("1\n".to_owned()),
    ];
    let text = prop::collection::vec(piece.clone(), 0..6).prop_map(|pieces| pieces.concat());
    prop_oneof![
        text.clone().prop_map(|text| Answer::Text { text }),
        prop::collection::vec(piece, 0..4).prop_map(|names| Answer::Names { names }),
        (prop::option::of(-1_i32..3), text.clone(), text).prop_map(|(code, stdout, stderr)| Answer::Ran {
            code,
            stdout,
            stderr
        }),
        Just(Answer::Present),
        Just(Answer::Missing),
        Just(Answer::TimedOut),
        "\\PC{0,20}".prop_map(|why| Answer::Failed { why }),
    ]
}

fn machines() -> impl Strategy<Value = (Os, Arch, Vec<Answer>)> {
    let os = prop_oneof![Just(Os::Linux), Just(Os::Macos), Just(Os::Other("plan9".into()))];
    let arch = prop_oneof![Just(Arch::X64), Just(Arch::Arm64), Just(Arch::Other("riscv64".into()))];
    (os, arch, prop::collection::vec(answers(), 40))
}

fn asked(os: &Os, arch: &Arch, answers: &[Answer]) -> Vec<Probed> {
    let pairs = probes(os, arch).into_iter().zip(answers.iter().cycle());
    pairs.map(|(probe, answer)| Probed { probe, answer: answer.clone() }).collect()
}

proptest! {
    /// Facts come out of any answers, in any order, and a plan (or a refusal with a next step)
    /// out of any facts.
    #[test]
    fn any_answers_make_facts_and_a_plan((os, arch, answers) in machines()) {
        let mut probed = asked(&os, &arch, &answers);
        let facts = HostFacts::from_probes(os.clone(), arch.clone(), &probed);
        probed.reverse();
        prop_assert_eq!(&facts, &HostFacts::from_probes(os.clone(), arch.clone(), &probed));
        let recipe = Recipe::of(RuntimeId::Llamacpp).unwrap();
        match plan(&Request::new(RuntimeId::Llamacpp), &facts, &recipe) {
            Ok(planning) => {
                prop_assert!(!planning.plans.is_empty());
                if os == Os::Linux {
                    prop_assert_eq!(&planning.plans.last().unwrap().backend, "cpu", "any Linux runs on the CPU");
                }
            }
            Err(refusal) => {
                prop_assert!(!refusal.message.is_empty());
                prop_assert!(os != Os::Linux || matches!(arch, Arch::Other(_)), "{}", refusal.message);
            }
        }
    }

    /// A probe that timed out leaves a fact unknown; it never makes it absent.
    #[test]
    fn silence_is_unknown_and_not_absent(arch in prop_oneof![Just(Arch::X64), Just(Arch::Arm64)]) {
        let facts = HostFacts::from_probes(Os::Linux, arch.clone(), &asked(&Os::Linux, &arch, &[Answer::TimedOut]));
        prop_assert!(matches!(facts.nvidia.finding, Finding::Unknown(_)), "{:?}", facts.nvidia);
        prop_assert!(!matches!(facts.vulkan.finding, Finding::Absent), "{:?}", facts.vulkan);
    }
}

#[test]
fn no_probe_can_change_a_machine_or_run_for_ever() {
    for (os, arch) in [(Os::Linux, Arch::X64), (Os::Linux, Arch::Arm64), (Os::Macos, Arch::Arm64)] {
        for probe in probes(&os, &arch) {
            match probe {
                Probe::Run { program, limit_ms, max_bytes, .. } => {
                    assert!(["nvidia-smi", "ldconfig", "sysctl"].iter().any(|name| program.ends_with(name)));
                    assert!((1..=5_000).contains(&limit_ms) && max_bytes <= 1 << 20);
                }
                Probe::ReadFile { max_bytes, .. } => assert!(max_bytes <= 1 << 20),
                Probe::ListDir { .. } | Probe::Exists { .. } => {}
            }
        }
    }
}
