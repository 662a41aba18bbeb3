//! NVIDIA driver versions, out of texts where anything may stand.

use super::probe::{DRIVER_FILE, SMI};
use super::{Answer, Fact, NvidiaDriver, parse::Answers};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A driver version such as `580.65.06`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DriverVersion {
    major: u32,
    text: String,
}

impl DriverVersion {
    /// Reads `major[.minor[.patch]]`, digits only, no leading zero in the major; anything else is
    /// no version. Where a version is expected, tools also print `N/A`, errors or nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split('.');
        let good = text.len() <= 32
            && parts.clone().count() <= 4
            && parts.clone().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        let major = parts.clone().next()?;
        if !good || major.starts_with('0') {
            return None;
        }
        Some(Self { major: major.parse().ok()?, text: text.into() })
    }

    /// The driver branch: what decides which CUDA runs.
    pub const fn major(&self) -> u32 {
        self.major
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for DriverVersion {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a driver version"))
    }
}

impl From<DriverVersion> for String {
    fn from(version: DriverVersion) -> Self {
        version.text
    }
}

/// The kernel module's own word first; `nvidia-smi` says whether the user space works with it.
pub(super) fn driver(answers: &Answers<'_>) -> Fact<NvidiaDriver> {
    let kernel = answers.read(DRIVER_FILE);
    let (program, smi) = SMI
        .iter()
        .map(|program| (*program, answers.run(program)))
        .find(|(_, answer)| !matches!(answer, None | Some(Answer::Missing)))
        .unwrap_or((SMI[0], None));
    match kernel {
        Some(Answer::Text { text }) => match kernel_version(text) {
            Some(version) => {
                let trouble = smi.and_then(|answer| trouble(answer, Some(&version)));
                let trouble = trouble.map(|why| format!("{program}: {why}"));
                Fact::known(NvidiaDriver { version, trouble }, DRIVER_FILE)
            }
            None => Fact::unknown(format!("no version in {:?}", first_line(text)), DRIVER_FILE),
        },
        Some(Answer::Failed { why }) if smi.is_none() => Fact::unknown(why, DRIVER_FILE),
        Some(Answer::TimedOut) if smi.is_none() => Fact::unknown("timed out", DRIVER_FILE),
        _ => from_smi(program, smi),
    }
}

/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …`
fn kernel_version(text: &str) -> Option<DriverVersion> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_whitespace().filter(|word| word.contains('.')).find_map(DriverVersion::parse)
}

fn from_smi(program: &str, answer: Option<&Answer>) -> Fact<NvidiaDriver> {
    match answer {
        None => Fact::absent(format!("{DRIVER_FILE}, {program}")),
        Some(Answer::TimedOut) => Fact::unknown("timed out", program),
        Some(Answer::Failed { why }) => Fact::unknown(why.clone(), program),
        Some(answer @ Answer::Ran { code, stdout, .. }) => {
            let version = first_line(stdout);
            match (code, DriverVersion::parse(version)) {
                (Some(0), Some(version)) => Fact::known(NvidiaDriver { version, trouble: None }, program),
                _ => Fact::unknown(trouble(answer, None).unwrap_or_default(), program),
            }
        }
        Some(_) => Fact::unknown("answered something else than was asked", program),
    }
}

/// What `nvidia-smi` says is wrong, if anything. A slow answer is no proof of trouble.
fn trouble(answer: &Answer, kernel: Option<&DriverVersion>) -> Option<String> {
    let Answer::Ran { code, stdout, stderr } = answer else { return None };
    let said = if first_line(stdout).is_empty() { first_line(stderr) } else { first_line(stdout) };
    let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
    let version = DriverVersion::parse(&said);
    match (code, version, kernel) {
        (Some(0), Some(user), Some(kernel)) if user.major != kernel.major => {
            Some(format!("reports driver {user}, the kernel module is {kernel}; a restart may be needed"))
        }
        (Some(0), Some(_), _) => None,
        _ if said.contains("Driver/library version mismatch") => {
            Some(format!("{said}; a restart of the machine loads the matching kernel module"))
        }
        _ if said.is_empty() => Some(match code {
            Some(code) => format!("printed nothing and exited {code}"),
            None => "was ended by a signal".to_string(),
        }),
        _ => Some(format!("says {said:?}")),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
