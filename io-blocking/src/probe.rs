//! Puts core's questions to this machine.

use crate::process::{self, Ended};
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use superfluid_core::host::{Answer, Arch, HostFacts, Os, Probe, Probed, probes};

/// What this machine is.
pub fn facts() -> HostFacts {
    let os = Os::from_name(std::env::consts::OS);
    let arch = Arch::from_name(std::env::consts::ARCH);
    let probed = probes(&os, &arch).into_iter().map(|probe| {
        let answer = ask(&probe);
        Probed { probe, answer }
    });
    let probed: Vec<Probed> = probed.collect();
    HostFacts::from_probes(os, arch, &probed)
}

/// One question's answer.
pub fn ask(probe: &Probe) -> Answer {
    match probe {
        Probe::ReadFile { path, max_bytes } => {
            let read = std::fs::File::open(path).and_then(|file| {
                let mut bytes = Vec::new();
                file.take(*max_bytes).read_to_end(&mut bytes)?;
                Ok(bytes)
            });
            read.map_or_else(failed, |bytes| Answer::Text {
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        }
        Probe::ListDir { path, prefixes } => std::fs::read_dir(path).map_or_else(failed, |entries| {
            let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
            let wanted = |name: &String| {
                prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
            };
            Answer::Names { names: names.filter(wanted).collect() }
        }),
        Probe::Exists { path } => match Path::new(path).try_exists() {
            Ok(true) => Answer::Present,
            Ok(false) => Answer::Missing,
            Err(error) => failed(error),
        },
        Probe::Run { program, args, limit_ms, max_bytes } => {
            let mut command = std::process::Command::new(program);
            command.args(args).env("LC_ALL", "C");
            let most = usize::try_from(*max_bytes).unwrap_or(usize::MAX);
            match process::run(&mut command, Duration::from_millis(*limit_ms), most) {
                Err(error) => failed(error),
                Ok(Ended { status: None, .. }) => Answer::TimedOut,
                Ok(Ended { status: Some(status), stdout, stderr }) => {
                    Answer::Ran { code: status.code(), stdout, stderr }
                }
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "passed to map_or_else")]
fn failed(error: std::io::Error) -> Answer {
    match error.kind() {
        std::io::ErrorKind::NotFound => Answer::Missing,
        _ => Answer::Failed { why: error.to_string() },
    }
}
