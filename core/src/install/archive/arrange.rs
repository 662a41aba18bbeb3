//! Where each member of a plan's archives goes in the install.

use super::judge::{ancestors, symlink_target};
use super::{Judged, Kind, fold, refuse};
use crate::install::layout;
use crate::refusal::Refusal;
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a runtime's archives look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'a> {
    /// Canonical runtime id.
    pub runtime: &'a str,
    /// How the runtime's main library begins (`libllama`); empty where it has none.
    pub library: &'a str,
    /// The folder of the install that the archive's own `bin/` and `lib/` go to; empty for the install itself.
    pub into: &'a str,
}

impl<'a> Shape<'a> {
    /// The shape of a runtime known by its id.
    pub fn of(runtime: &'a str) -> Self {
        let library = match runtime {
            "llamacpp" => "libllama",
            "basert" => "libbaseRT",
            _ => "",
        };
        let into = if runtime == "mlx" { layout::PYTHON } else { "" };
        Self { runtime, library, into }
    }

    /// Where the install's worker lies.
    pub fn worker(&self) -> String {
        format!("bin/superfluid-worker-{}", self.runtime)
    }
}

/// One file to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Which member of its archive, counted from 0 over files, folders and links.
    pub member: u32,
    /// Path in the install.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// 0755, else 0644.
    pub executable: bool,
}

/// One symbolic link to make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Link {
    /// Path in the install.
    pub path: String,
    /// Relative to the link's own folder.
    pub target: String,
}

/// One file that is another name of a placed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HardLink {
    /// Path in the install.
    pub path: String,
    /// Path in the install of the file it names.
    pub target: String,
}

/// Everything an install gets from its archives. No path lies below a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrangement {
    /// Folders, parents first.
    pub dirs: Vec<String>,
    /// Files, by archive.
    pub files: Vec<Vec<Placement>>,
    /// Hard links, made after all files.
    pub hard: Vec<HardLink>,
    /// Symbolic links, made last.
    pub links: Vec<Link>,
    /// Whether the archives bring the runtime's worker themselves.
    pub worker: bool,
}

/// How one archive's paths become an install's.
enum Lay<'a> {
    /// It has `bin/` and `lib/`: everything below its top folder stays as it is, in this folder.
    Kept(&'a str),
    /// The files of one folder, flat in `lib/`.
    Flat(&'a str),
}

impl Lay<'_> {
    fn map(&self, judged: &Judged, path: &str) -> Option<String> {
        let below = judged.below_top(path);
        match self {
            Self::Kept(into) => below.map(|below| join(into, below)),
            Self::Flat(folder) => {
                let name = match *folder {
                    "" => path,
                    folder => path.strip_prefix(folder)?.strip_prefix('/')?,
                };
                (!name.is_empty() && !name.contains('/')).then(|| format!("lib/{name}"))
            }
        }
    }
}

/// Says where every member goes. Archives are laid in order; where two carry one name the first
/// wins. What an archive holds outside the folder that is laid is left out.
pub fn arrange(archives: &[Judged], shape: Shape<'_>) -> Result<Arrangement, Refusal> {
    let mut out = Arrangement::default();
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut dirs: BTreeSet<String> = BTreeSet::new();
    let worker = shape.worker();
    for (index, judged) in archives.iter().enumerate() {
        let lay = lay_of(judged, shape, index == 0)?;
        let mut files = Vec::new();
        // Where this archive's own files went, for its hard links.
        let mut placed: BTreeMap<&str, String> = BTreeMap::new();
        for (number, member) in judged.members().iter().enumerate() {
            let Some(path) = lay.map(judged, &member.path) else { continue };
            if path == "runtime.json" {
                continue;
            }
            if member.kind == Kind::Dir {
                if matches!(lay, Lay::Kept(_)) {
                    dirs.insert(path);
                }
                continue;
            }
            if taken.contains_key(&fold(&path)) {
                if let Some(first) = taken.get(&fold(&path)) {
                    placed.insert(&member.path, first.clone());
                }
                continue;
            }
            match &member.kind {
                Kind::File { executable } => {
                    let executable = *executable || path == worker;
                    let member =
                        u32::try_from(number).map_err(|_| refuse("the archive has too many members"))?;
                    let size = judged.members()[number].size;
                    files.push(Placement { member, path: path.clone(), size, executable });
                }
                Kind::Hardlink { target } => {
                    let target = target.strip_prefix("./").unwrap_or(target);
                    let Some(target) = placed.get(target) else { continue };
                    out.hard.push(HardLink { path: path.clone(), target: target.clone() });
                }
                Kind::Symlink { target } => {
                    let resolved = symlink_target(judged, &member.path, target)?;
                    let Some(target) = relink(judged, &lay, &path, &resolved) else { continue };
                    out.links.push(Link { path: path.clone(), target });
                }
                Kind::Dir => {}
            }
            placed.insert(&member.path, path.clone());
            dirs.extend(ancestors(&path).map(ToOwned::to_owned));
            taken.insert(fold(&path), path);
        }
        out.files.push(files);
    }
    // A link whose file went elsewhere, or nowhere, is left out: only in `lib/` laid flat.
    out.worker = taken.get(&fold(&worker)).is_some_and(|path| *path == worker);
    if out.links.iter().any(|link| link.path == worker) {
        return Err(refuse(format!("{worker} of the archive is a link, not a program")));
    }
    dirs.insert("bin".into());
    dirs.insert("lib".into());
    for dir in &dirs {
        if let Some(path) = taken.get(&fold(dir)) {
            return Err(refuse(format!("{path:?} is a folder in one archive and a file in another")));
        }
    }
    out.dirs = dirs.into_iter().collect();
    Ok(out)
}

/// A path in a folder; either may be empty.
fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// A link's target as seen from its new place; `None` where what it names is left out.
fn relink(judged: &Judged, lay: &Lay<'_>, link: &str, resolved: &str) -> Option<String> {
    let target = match lay {
        // The top folder becomes the install itself.
        Lay::Kept(into) => join(into, judged.below_top(resolved).unwrap_or_default()),
        Lay::Flat(_) => {
            let there =
                judged.members().iter().any(|member| member.path == resolved && member.kind != Kind::Dir);
            lay.map(judged, resolved).filter(|_| there)?
        }
    };
    let from: Vec<&str> = link.split('/').collect();
    let to: Vec<&str> = target.split('/').filter(|part| !part.is_empty()).collect();
    let folders = from.len() - 1;
    let common = from[..folders].iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts: Vec<&str> = alloc::vec![".."; folders - common];
    parts.extend(&to[common..]);
    Some(if parts.is_empty() { ".".into() } else { parts.join("/") })
}

fn lay_of<'a>(judged: &'a Judged, shape: Shape<'a>, first: bool) -> Result<Lay<'a>, Refusal> {
    let has = |folder: &str| {
        judged.members().iter().any(|member| {
            judged
                .below_top(&member.path)
                .is_some_and(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        })
    };
    if has("bin") && has("lib") {
        return Ok(Lay::Kept(shape.into));
    }
    let mut best: Option<&str> = None;
    for member in judged.members().iter().filter(|member| member.kind != Kind::Dir) {
        let (folder, name) = member.path.rsplit_once('/').unwrap_or(("", &member.path));
        let depth = |folder: &str| (folder.matches('/').count(), folder.len());
        if is_library(name, shape.library) && best.is_none_or(|best| depth(folder) < depth(best)) {
            best = Some(folder);
        }
    }
    match best {
        Some(folder) => Ok(Lay::Flat(folder)),
        None if first => Err(refuse(match shape.library {
            "" => "the archive has no bin/ and lib/ folders".into(),
            library => format!("the archive has no {library} library"),
        })),
        None => Ok(Lay::Flat(judged.top())),
    }
}

/// `libllama.so`, `libllama.so.0`, `libllama.v0.5.0.so`, `libllama.dylib`; not `libllama-common.so`.
fn is_library(name: &str, stem: &str) -> bool {
    !stem.is_empty()
        && name.strip_prefix(stem).is_some_and(|rest| {
            rest.starts_with('.') && rest.split('.').any(|part| part == "so" || part == "dylib")
        })
}
