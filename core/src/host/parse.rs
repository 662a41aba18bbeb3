//! Facts out of probe answers.

use super::probe::{ICD_DIRS, KFD, LDCONFIG, MEMINFO, ROCM, SYSCTL, SYSCTL_KEYS, library_dirs};
use super::{Answer, Arch, Fact, HostFacts, Memory, Os, Probe, Probed, nvidia};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Answers looked up by question.
pub(super) struct Answers<'a>(pub(super) &'a [Probed]);

impl<'a> Answers<'a> {
    pub(super) fn read(&self, wanted: &str) -> Option<&'a Answer> {
        self.find(|probe| matches!(probe, Probe::ReadFile { path, .. } if path == wanted))
    }

    pub(super) fn run(&self, wanted: &str) -> Option<&'a Answer> {
        self.find(|probe| matches!(probe, Probe::Run { program, .. } if program == wanted))
    }

    fn sysctl(&self, key: &str) -> Option<&'a Answer> {
        self.find(|probe| {
            matches!(probe, Probe::Run { program, args, .. }
                if program == SYSCTL && args.last().is_some_and(|arg| arg == key))
        })
    }

    fn exists(&self, wanted: &str) -> Option<&'a Answer> {
        self.find(|probe| matches!(probe, Probe::Exists { path } if path == wanted))
    }

    fn list(&self, wanted: &str) -> Option<&'a Answer> {
        self.find(|probe| matches!(probe, Probe::ListDir { path, .. } if path == wanted))
    }

    fn find(&self, asked: impl Fn(&Probe) -> bool) -> Option<&'a Answer> {
        self.0.iter().find(|probed| asked(&probed.probe)).map(|probed| &probed.answer)
    }
}

impl HostFacts {
    /// Reads the answers to [`probes`](super::probes). `os` and `arch` are what this program was
    /// built for. A question without an answer counts as one that failed.
    pub fn from_probes(os: Os, built_for: Arch, answers: &[Probed]) -> Self {
        let answers = Answers(answers);
        let linux = os == Os::Linux;
        let elsewhere = || format!("{os} has none");
        let libraries = linux.then(|| Libraries::read(&answers, &built_for));
        Self {
            arch: arch(&os, built_for, &answers),
            nvidia: if linux { nvidia::driver(&answers) } else { Fact::absent(elsewhere()) },
            cuda_runtimes: libraries.as_ref().map_or_else(|| Fact::absent(elsewhere()), Libraries::cuda),
            rocm: if linux { rocm(&answers) } else { Fact::absent(elsewhere()) },
            vulkan: libraries
                .as_ref()
                .map_or_else(|| Fact::absent(elsewhere()), |libraries| vulkan(libraries, &answers)),
            memory: if linux { linux_memory(&answers) } else { mac_memory(&answers) },
            os,
        }
    }
}

/// On a Mac the hardware decides: a program built for x86-64 also runs on Apple silicon.
fn arch(os: &Os, built_for: Arch, answers: &Answers<'_>) -> Fact<Arch> {
    if *os != Os::Macos || built_for == Arch::Arm64 {
        return Fact::known(built_for, "this program's own architecture");
    }
    let mut unclear = None;
    for key in &SYSCTL_KEYS[..2] {
        match answers.sysctl(key) {
            Some(Answer::Ran { code: Some(0), stdout, .. }) if stdout.trim() == "1" => {
                return Fact::known(Arch::Arm64, format!("sysctl {key}"));
            }
            // An Intel Mac does not know these keys: sysctl says so and fails.
            Some(Answer::Ran { code: Some(_), .. } | Answer::Missing) => {}
            Some(Answer::TimedOut) => unclear = Some(format!("sysctl {key} timed out")),
            _ => unclear = Some(format!("sysctl {key} could not be asked")),
        }
    }
    match unclear {
        Some(why) => Fact::unknown(why, "sysctl"),
        None => Fact::known(built_for, "sysctl hw.optional.arm64"),
    }
}

fn rocm(answers: &Answers<'_>) -> Fact<()> {
    for path in [KFD, ROCM] {
        match answers.exists(path) {
            Some(Answer::Present) => {}
            Some(Answer::Missing) => return Fact::absent(path),
            Some(Answer::TimedOut) => return Fact::unknown("timed out", path),
            Some(Answer::Failed { why }) => return Fact::unknown(why.clone(), path),
            _ => return Fact::unknown("not asked", path),
        }
    }
    Fact::known((), format!("{KFD}, {ROCM}"))
}

/// Libraries the dynamic loader finds.
struct Libraries {
    names: BTreeSet<String>,
    /// Why the list may be short.
    unclear: Option<String>,
    source: String,
}

impl Libraries {
    /// The loader's cache where it has one; without (musl, NixOS), the usual folders.
    fn read(answers: &Answers<'_>, arch: &Arch) -> Self {
        let mut unclear = None;
        for program in LDCONFIG {
            match answers.run(program) {
                Some(Answer::Ran { code: Some(0), stdout, .. }) if stdout.contains("=>") => {
                    let names = stdout.lines().filter_map(|line| cache_line(line, arch)).collect();
                    return Self { names, unclear: None, source: format!("{program} -p") };
                }
                Some(Answer::TimedOut) => unclear = Some(format!("{program} timed out")),
                Some(Answer::Failed { why }) => unclear = Some(format!("{program}: {why}")),
                _ => {}
            }
        }
        let mut names = BTreeSet::new();
        for dir in library_dirs(arch) {
            match answers.list(dir) {
                Some(Answer::Names { names: found }) => names.extend(found.iter().cloned()),
                Some(Answer::TimedOut) => unclear = Some(format!("listing {dir} timed out")),
                _ => {}
            }
        }
        Self { names, unclear, source: "the usual library folders".into() }
    }

    fn cuda(&self) -> Fact<Vec<u32>> {
        let majors = |stem: &str| -> BTreeSet<u32> {
            let rest = self.names.iter().filter_map(|name| name.strip_prefix(stem));
            rest.filter_map(|rest| rest.split('.').next()?.parse().ok()).collect()
        };
        let both: Vec<u32> =
            majors("libcudart.so.").intersection(&majors("libcublas.so.")).copied().collect();
        match &self.unclear {
            _ if !both.is_empty() => Fact::known(both, self.source.clone()),
            Some(why) => Fact::unknown(why.clone(), self.source.clone()),
            None => Fact::absent(self.source.clone()),
        }
    }
}

/// `\tlibvulkan.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libvulkan.so.1`: the name, unless the
/// library is of another architecture (32-bit ones stand in the same cache).
fn cache_line(line: &str, arch: &Arch) -> Option<String> {
    let (left, _) = line.split_once("=>")?;
    let (name, tags) = left.trim().split_once(' ')?;
    let fits = match arch {
        Arch::X64 => tags.contains("x86-64"),
        Arch::Arm64 => tags.contains("AArch64"),
        Arch::Other(_) => true,
    };
    fits.then(|| name.into())
}

fn vulkan(libraries: &Libraries, answers: &Answers<'_>) -> Fact<()> {
    if !libraries.names.iter().any(|name| name == "libvulkan.so.1") {
        let source = format!("libvulkan.so.1 in {}", libraries.source);
        return match &libraries.unclear {
            Some(why) => Fact::unknown(why.clone(), source),
            None => Fact::absent(source),
        };
    }
    let mut unclear = None;
    for dir in ICD_DIRS {
        match answers.list(dir) {
            Some(Answer::Names { names }) => {
                let icd = names.iter().filter(|name| name.ends_with(".json")).min();
                if let Some(icd) = icd {
                    return Fact::known((), format!("libvulkan.so.1, {dir}/{icd}"));
                }
            }
            Some(Answer::TimedOut) => unclear = Some(format!("listing {dir} timed out")),
            Some(Answer::Failed { why }) => unclear = Some(format!("{dir}: {why}")),
            _ => {}
        }
    }
    match unclear {
        Some(why) => Fact::unknown(why, "vulkan/icd.d"),
        None => Fact::absent("a driver manifest in vulkan/icd.d"),
    }
}

fn linux_memory(answers: &Answers<'_>) -> Fact<Memory> {
    let Some(Answer::Text { text }) = answers.read(MEMINFO) else {
        return Fact::unknown("could not be read", MEMINFO);
    };
    let field = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?.strip_prefix(':')?;
        let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    match field("MemTotal") {
        Some(total) => Fact::known(Memory { total, available: field("MemAvailable") }, MEMINFO),
        None => Fact::unknown("no MemTotal", MEMINFO),
    }
}

fn mac_memory(answers: &Answers<'_>) -> Fact<Memory> {
    let key = SYSCTL_KEYS[2];
    let source = format!("sysctl {key}");
    match answers.sysctl(key) {
        Some(Answer::Ran { code: Some(0), stdout, .. }) => match stdout.trim().parse() {
            Ok(total) => Fact::known(Memory { total, available: None }, source),
            Err(_) => Fact::unknown("not a number", source),
        },
        Some(Answer::TimedOut) => Fact::unknown("timed out", source),
        _ => Fact::unknown("could not be asked", source),
    }
}
