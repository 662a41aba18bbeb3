//! Which llama.cpp library is loaded: the user's own build, or the install this worker lives in.
//!
//! Never the current folder and never the system's library path: a library that merely happens to
//! lie there is another build, and its structs another layout.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;

/// The environment variable that names the user's own build: a library file or its folder.
pub const LIB_VARIABLE: &str = "SUPERFLUID_LLAMA_LIB";

/// Where the library may be named; the first that is given is taken.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `SUPERFLUID_LLAMA_LIB`: a file or a folder.
    pub variable: Option<PathBuf>,
    /// `--lib`: a folder (a file will do).
    pub argument: Option<PathBuf>,
    /// The worker's own executable, links resolved; its install holds the library in `../lib`.
    pub executable: Option<PathBuf>,
}

impl Places {
    /// The places of this process.
    pub fn of_this_process() -> Self {
        let executable = std::env::current_exe().ok();
        Self {
            variable: std::env::var_os(LIB_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from),
            argument: None,
            // Where a parent folder can't be read, the name as it stands still finds the siblings.
            executable: executable.map(|path| path.canonicalize().unwrap_or(path)),
        }
    }

    /// The library's file, as an absolute path.
    ///
    /// # Errors
    /// `library_not_found` where the first place that is given holds none.
    pub fn library(&self) -> Result<PathBuf, Refusal> {
        if let Some(path) = &self.variable {
            return library_at(path, LIB_VARIABLE);
        }
        if let Some(path) = &self.argument {
            return library_at(path, "--lib");
        }
        let Some(bin) = self.executable.as_deref().and_then(Path::parent) else {
            return Err(not_found(
                "this worker does not know its own place, so it can't find llama.cpp's library".to_owned(),
            ));
        };
        let folder = bin.parent().unwrap_or(bin).join("lib");
        library_in(&folder)
            .map_err(|why| not_found(format!("no llama.cpp library in {}: {why}", folder.display())))
    }
}

fn not_found(message: String) -> Refusal {
    Refusal::new("library_not_found", message).hint("superfluid runtime install llamacpp").hint(format!(
        "set {LIB_VARIABLE} to a build of your own: the libllama file, or the folder that holds it"
    ))
}

fn library_at(path: &Path, named_by: &str) -> Result<PathBuf, Refusal> {
    let found = if path.is_dir() {
        library_in(path)
    } else if path.is_file() {
        std::path::absolute(path).map_err(|error| error.to_string())
    } else {
        Err("there is no such file or folder".to_owned())
    };
    found.map_err(|why| {
        Refusal::new("library_not_found", format!("{named_by} names {}: {why}", path.display()))
            .hint(format!("name the libllama file, or the folder that holds it, in {named_by}"))
            .hint("superfluid runtime install llamacpp")
    })
}

/// The folder's llama library. Builds name it differently (`libllama.so`, `libllama.so.0`,
/// `libllama.v0.5.0.so`, `libllama.dylib`); of several names the plainest is taken.
fn library_in(folder: &Path) -> Result<PathBuf, String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let entries = std::fs::read_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => error.to_string(),
    })?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(is_llama) && path.is_file())
        .collect();
    found.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    found.into_iter().next().ok_or_else(|| "no file there is called libllama.so or alike".to_owned())
}

fn is_llama(name: &OsStr) -> bool {
    name.to_str().and_then(|name| name.strip_prefix("libllama.")).is_some_and(is_library)
}

/// Whether what follows a library's stem and a dot is a shared library's ending.
fn is_library(rest: &str) -> bool {
    rest.split('.').any(|part| part == "so" || part == "dylib")
}

/// Whether a file of this name is one of llama.cpp's loadable backends: `libggml-cuda.so`,
/// `libggml-cpu-haswell.so`. `libggml-base` is none, but treating it as one does no harm.
pub(crate) fn is_backend(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("libggml-")) else { return false };
    rest.split_once('.').is_some_and(|(_, ending)| is_library(ending))
}
