//! Where a runtime's worker is: five places, first match wins, `PATH` is none of them.

use super::RuntimeId;
use crate::install::rank::{Installed, default_install};
use crate::install::{InstallName, Recipe, layout};
use crate::refusal::Refusal;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The variable that names a libllama of one's own.
pub const LLAMA_LIB: &str = "SUPERFLUID_LLAMA_LIB";

/// The variable that names a baseRT library, or the folder of one, of one's own.
pub const BASERT_LIB: &str = "BASERT_LIB";

/// What a baseRT library is called in a folder that was named.
pub const BASERT_NAMES: [&str; 4] =
    ["libbaseRT.dylib", "libbaseRT.so", "libbaseRT.0.dylib", "libbaseRT.so.0"];

/// A baseRT library that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLibrary {
    /// The file, or a folder with one of [`BASERT_NAMES`] in it, as it was given.
    pub path: String,
    /// What named it: `--basert-lib` or `BASERT_LIB`.
    pub by: String,
}

/// What lies at a path, links followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stat {
    /// A file this user may execute.
    Executable,
    /// A file, not executable.
    File,
    /// A folder.
    Folder,
    /// Nothing.
    Missing,
    /// It could not be looked at: the system's words.
    Unclear(String),
}

/// Everything resolution asks of the process and its disk, for one runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveFacts {
    /// `SUPERFLUID_WORKER_<ID>`, where it is set, even to nothing.
    pub variable: Option<String>,
    /// Whether `SUPERFLUID_LLAMA_LIB` is set to something.
    pub own_library: bool,
    /// The baseRT library that `--basert-lib` or `BASERT_LIB` names.
    pub basert_lib: Option<NamedLibrary>,
    /// The current folder, absolute.
    pub current_dir: String,
    /// This program's own path as the system gives it; never argv\[0\].
    pub exe: String,
    /// The same with links resolved, where that worked.
    pub exe_real: Option<String>,
    /// The home, absolute.
    pub home: String,
    /// The runtimes linked into this build's `superfluid-workerd`.
    pub linked: Vec<RuntimeId>,
    /// The installs of this runtime.
    pub installs: Vec<Installed>,
    /// The install its `current` link names.
    pub current: Option<InstallName>,
    /// The install its `pinned` file names.
    pub pinned: Option<InstallName>,
    /// What lies at each of [`paths`]; a path that is not in it counts as missing.
    pub stats: BTreeMap<String, Stat>,
}

/// Which place a worker was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// `SUPERFLUID_WORKER_<ID>`.
    Variable,
    /// Linked into this build.
    Linked,
    /// Beside the superfluid binary.
    Beside,
    /// An install.
    Installed,
}

/// A worker that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Absolute path.
    pub program: String,
    /// Arguments in front of the verb: `--engine <id>` for a linked runtime.
    pub engine: Vec<String>,
    /// Where it was found.
    pub place: Place,
    /// The install it, or its libraries, come from.
    pub install: Option<InstallName>,
    /// The folder of its libraries, or the one library that was named, passed as `--lib <path>`.
    pub lib_dir: Option<String>,
    /// Variables it must be started without.
    pub unset: Vec<String>,
}

impl Resolved {
    /// The arguments that make it do `verb` (`serve`, `check`, `version`).
    pub fn args(&self, verb: &str) -> Vec<String> {
        let mut args = self.engine.clone();
        args.push(verb.to_string());
        // `version` is a word about the worker itself.
        if let Some(lib) = self.lib_dir.as_ref().filter(|_| verb != "version") {
            args.extend(["--lib".to_string(), lib.clone()]);
        }
        args
    }
}

/// Found, or what has to be installed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A worker that can be started.
    Found(Resolved),
    /// The runtime, or the libraries its worker needs, have to be installed.
    NotInstalled {
        /// The worker program an install would take, where this build or release has one.
        adapter: Option<String>,
        /// The places tried, and the one command to run.
        refusal: Refusal,
    },
}

/// The paths a driver must look at before [`resolve`], once the rest of `facts` is filled in.
pub fn paths(id: RuntimeId, facts: &ResolveFacts) -> Vec<String> {
    let mut paths = vec![workerd(facts), beside(id, facts), libexec(id, facts)];
    paths.extend(variable_path(facts));
    if let Some(named) = facts.basert_lib.as_ref().filter(|_| id == RuntimeId::Basert) {
        let path = absolute(&named.path, facts);
        paths.extend(BASERT_NAMES.iter().map(|name| format!("{path}/{name}")));
        paths.push(path);
    }
    paths.extend(facts.installs.iter().map(|install| installed_worker(id, &install.name, facts)));
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Finds the worker of `id`, or exactly that of the install the user named.
pub fn resolve(
    id: RuntimeId,
    install: Option<&InstallName>,
    facts: &ResolveFacts,
) -> Result<Resolution, Refusal> {
    if let Some(name) = install {
        let mut found = exactly(id, name, facts)?;
        // The worker would take a library of one's own before the install's.
        if id == RuntimeId::Llamacpp && facts.own_library {
            found.unset.push(LLAMA_LIB.to_string());
        }
        if id == RuntimeId::Basert && facts.basert_lib.is_some() {
            found.unset.push(BASERT_LIB.to_string());
        }
        return Ok(Resolution::Found(found));
    }
    if let Some(named) = facts.basert_lib.as_ref().filter(|_| id == RuntimeId::Basert) {
        return with_named_library(id, named, facts).map(Resolution::Found);
    }
    if let Some(program) = variable(id, facts)? {
        return Ok(Resolution::Found(with_libraries(id, program, Place::Variable, facts)));
    }
    if facts.linked.contains(&id) {
        let program = workerd(facts);
        executable(&program, facts).map_err(|why| {
            Refusal::new("broken_build", format!("the {id} runtime is built in, but {program} {why}"))
                .hint("install superfluid again")
        })?;
        let engine = vec!["--engine".to_string(), id.to_string()];
        let mut found = plain(program, Place::Linked);
        found.engine = engine;
        return Ok(Resolution::Found(found));
    }
    let sibling = beside(id, facts);
    if stat(&sibling, facts) == &Stat::Executable {
        let found = with_libraries(id, sibling, Place::Beside, facts);
        let complete = id != RuntimeId::Llamacpp || facts.own_library || found.lib_dir.is_some();
        return Ok(if complete { Resolution::Found(found) } else { not_installed(id, facts) });
    }
    match default(facts) {
        Some(default) => {
            let mut found = exactly(id, &default.name, facts)?;
            found.lib_dir = found.lib_dir.filter(|_| !facts.own_library);
            Ok(Resolution::Found(found))
        }
        None => Ok(not_installed(id, facts)),
    }
}

/// The worker program an install of `id` takes: the one beside this program, else the release's.
pub fn adapter(id: RuntimeId, facts: &ResolveFacts) -> Option<String> {
    let places = [beside(id, facts), libexec(id, facts)];
    places.into_iter().find(|path| stat(path, facts) == &Stat::Executable)
}

/// The install that serves when none is named: the one `current` names, else what ranking says.
pub fn default(facts: &ResolveFacts) -> Option<&Installed> {
    let current = facts.installs.iter().find(|install| Some(&install.name) == facts.current.as_ref());
    current.or_else(|| default_install(&facts.installs, facts.pinned.as_ref()))
}

fn exactly(id: RuntimeId, name: &InstallName, facts: &ResolveFacts) -> Result<Resolved, Refusal> {
    if !facts.installs.iter().any(|install| install.name == *name) {
        let mut have: Vec<&InstallName> = facts.installs.iter().map(|install| &install.name).collect();
        have.sort_unstable_by(|a, b| crate::install::rank::compare(a, b));
        let have: Vec<&str> = have.into_iter().map(InstallName::as_str).collect();
        let refusal = Refusal::new("no_such_install", format!("the {id} runtime has no install {name}"));
        return Err(if have.is_empty() {
            refusal.hint(Recipe::how_to_get(id))
        } else {
            refusal.hint(format!("the installs are {}", have.join(", ")))
        });
    }
    let program = installed_worker(id, name, facts);
    executable(&program, facts).map_err(|why| {
        Refusal::new("damaged_install", format!("the install {name} is damaged: {program} {why}"))
            .hint(format!("superfluid runtime repair {id} {name}"))
    })?;
    let mut found = plain(program, Place::Installed);
    found.install = Some(name.clone());
    if id == RuntimeId::Llamacpp {
        found.lib_dir = Some(format!("{}/{}", facts.home, layout::lib(id, name)));
    }
    Ok(found)
}

/// A worker from outside an install takes its libraries from the default install.
fn with_libraries(id: RuntimeId, program: String, place: Place, facts: &ResolveFacts) -> Resolved {
    let mut found = plain(program, place);
    if id == RuntimeId::Llamacpp && !facts.own_library {
        found.install = default(facts).map(|install| install.name.clone());
        let lib = |name| format!("{}/{}", facts.home, layout::lib(id, name));
        found.lib_dir = found.install.as_ref().map(lib);
    }
    found
}

/// A library that was named is used or refused, and nothing is installed beside it.
fn with_named_library(
    id: RuntimeId,
    named: &NamedLibrary,
    facts: &ResolveFacts,
) -> Result<Resolved, Refusal> {
    let by = &named.by;
    let refuse = |what: String| {
        Refusal::new("bad_basert_lib", what)
            .hint(format!("name a baseRT library, or the folder it lies in, with {by}, or leave it out"))
    };
    let path = absolute(&named.path, facts);
    let library = match stat(&path, facts) {
        Stat::File | Stat::Executable => path,
        Stat::Folder => {
            let inside = BASERT_NAMES.iter().map(|name| format!("{path}/{name}"));
            let file = |path: &String| matches!(stat(path, facts), Stat::File | Stat::Executable);
            inside.into_iter().find(file).ok_or_else(|| {
                refuse(format!(
                    "{by} names the folder {path}, and there is no {} in it",
                    BASERT_NAMES.join(", ")
                ))
            })?
        }
        Stat::Missing => return Err(refuse(format!("{by} names {path}, which does not exist"))),
        Stat::Unclear(why) => {
            return Err(refuse(format!("{by} names {path}, which cannot be looked at: {why}")));
        }
    };
    let outside = match variable(id, facts)? {
        Some(program) => Some((program, Place::Variable)),
        None => adapter(id, facts).map(|program| (program, Place::Beside)),
    };
    let mut found = match (outside, default(facts)) {
        (Some((program, place)), _) => plain(program, place),
        (None, Some(install)) => exactly(id, &install.name, facts)?,
        (None, None) => {
            let message =
                format!("{by} names a library, and this build has no {} to load it with", id.worker());
            return Err(Refusal::new("no_adapter", message).hint(format!(
                "put {} beside the superfluid binary, or in libexec/superfluid",
                id.worker()
            )));
        }
    };
    found.lib_dir = Some(library);
    Ok(found)
}

/// A path that was given, from the current folder.
fn absolute(path: &str, facts: &ResolveFacts) -> String {
    match path.starts_with('/') {
        true => path.to_string(),
        false => format!("{}/{path}", facts.current_dir.trim_end_matches('/')),
    }
}

fn plain(program: String, place: Place) -> Resolved {
    Resolved { program, engine: Vec::new(), place, install: None, lib_dir: None, unset: Vec::new() }
}

/// What the user set is used or refused, never passed over.
fn variable(id: RuntimeId, facts: &ResolveFacts) -> Result<Option<String>, Refusal> {
    let Some(value) = &facts.variable else { return Ok(None) };
    let name = id.worker_variable();
    let refuse = |what: String| {
        Refusal::new("bad_worker_variable", what).hint(format!("set {name} to a worker program, or unset it"))
    };
    match variable_path(facts) {
        None => Err(refuse(format!("{name} is set to nothing"))),
        Some(path) => match executable(&path, facts) {
            Ok(()) => Ok(Some(path)),
            Err(why) => Err(refuse(format!("{name} is {value:?}, and {path} {why}"))),
        },
    }
}

fn variable_path(facts: &ResolveFacts) -> Option<String> {
    let value = facts.variable.as_deref().filter(|value| !value.is_empty())?;
    Some(absolute(value, facts))
}

fn stat<'a>(path: &str, facts: &'a ResolveFacts) -> &'a Stat {
    facts.stats.get(path).unwrap_or(&Stat::Missing)
}

/// Why a path cannot be started, after its name: "is a folder".
fn executable(path: &str, facts: &ResolveFacts) -> Result<(), String> {
    match stat(path, facts) {
        Stat::Executable => Ok(()),
        Stat::File => Err("is not executable".to_string()),
        Stat::Folder => Err("is a folder".to_string()),
        Stat::Missing => Err("does not exist".to_string()),
        Stat::Unclear(why) => Err(format!("cannot be looked at: {why}")),
    }
}

/// The folder of this program, links resolved where that works.
fn exe_dir(facts: &ResolveFacts) -> &str {
    let exe = facts.exe_real.as_deref().unwrap_or(&facts.exe);
    exe.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn beside(id: RuntimeId, facts: &ResolveFacts) -> String {
    format!("{}/{}", exe_dir(facts), id.worker())
}

fn workerd(facts: &ResolveFacts) -> String {
    format!("{}/superfluid-workerd", exe_dir(facts))
}

fn libexec(id: RuntimeId, facts: &ResolveFacts) -> String {
    let prefix = exe_dir(facts).rsplit_once('/').map_or("", |(prefix, _)| prefix);
    format!("{prefix}/libexec/superfluid/{}", id.worker())
}

fn installed_worker(id: RuntimeId, name: &InstallName, facts: &ResolveFacts) -> String {
    format!("{}/{}", facts.home, layout::worker(id, name))
}

fn not_installed(id: RuntimeId, facts: &ResolveFacts) -> Resolution {
    let installs = format!("{}/{}", facts.home, layout::runtime(id));
    let sibling = beside(id, facts);
    let adapter = adapter(id, facts);
    let sibling = match &adapter {
        Some(path) if *path == sibling => format!("{sibling} (there, without its libraries)"),
        _ => sibling,
    };
    let linked: Vec<&str> = facts.linked.iter().map(|id| id.as_str()).collect();
    let linked = if linked.is_empty() { "none".to_string() } else { linked.join(", ") };
    let message = format!(
        "the {id} runtime is not installed; looked at {} (not set), the runtimes built in ({linked}), {sibling}, \
         {installs} (no install), {}",
        id.worker_variable(),
        libexec(id, facts),
    );
    Resolution::NotInstalled {
        adapter,
        refusal: Refusal::new("not_installed", message).hint(Recipe::how_to_get(id)),
    }
}
