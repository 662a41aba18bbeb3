//! Facts out of probe answers, as real machines give them.

mod machines;
mod nvidia;
mod property;

use superfluid_core::host::{Answer, Arch, HostFacts, Os, Probe, Probed, probes};

/// A machine: what it was asked gets the answer whose key is in the question, else "missing".
pub(crate) fn facts(os: Os, arch: Arch, answers: &[(&str, Answer)]) -> HostFacts {
    let probed: Vec<Probed> = probes(&os, &arch)
        .into_iter()
        .map(|probe| {
            let answer = answers.iter().find(|(key, _)| is_about(&probe, key));
            let answer = answer.map_or(Answer::Missing, |(_, answer)| answer.clone());
            Probed { probe, answer }
        })
        .collect();
    HostFacts::from_probes(os, arch, &probed)
}

fn is_about(probe: &Probe, key: &str) -> bool {
    match probe {
        Probe::ReadFile { path, .. } | Probe::ListDir { path, .. } | Probe::Exists { path } => path == key,
        Probe::Run { program, args, .. } => program == key || args.last().is_some_and(|arg| arg == key),
    }
}

pub(crate) fn text(text: &str) -> Answer {
    Answer::Text { text: text.into() }
}

pub(crate) fn names(names: &[&str]) -> Answer {
    Answer::Names { names: names.iter().map(|&name| name.into()).collect() }
}

pub(crate) fn ran(code: i32, stdout: &str, stderr: &str) -> Answer {
    Answer::Ran { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
}

pub(crate) fn linux(answers: &[(&str, Answer)]) -> HostFacts {
    facts(Os::Linux, Arch::X64, answers)
}

pub(crate) const DRIVER: &str = "/proc/driver/nvidia/version";

/// The text of a kernel module of `version`.
pub(crate) fn module(version: &str) -> Answer {
    text(&format!(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (dvs-builder@x)  \
         Sun Jul 20 07:00:00 UTC 2025\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04.2)\n"
    ))
}
