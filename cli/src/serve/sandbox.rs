//! What the operator says about workers' sandboxes, and what is known of this process for them.

use super::ServeArgs;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::runtime::resolve::LLAMA_LIB;
use superfluid_core::runtime::{Confined, Resolved, Sandbox};

/// What workers may do besides what they need.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed {
    /// Whether there is a sandbox at all.
    pub(super) confined: bool,
    read: Vec<String>,
    write: Vec<String>,
    network: bool,
}

impl Allowed {
    pub(super) fn by(args: &ServeArgs) -> Result<Self, Refusal> {
        let all =
            |paths: &[PathBuf]| paths.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, Refusal>>();
        Ok(Self {
            confined: !args.no_sandbox,
            read: all(&args.allow_read)?,
            write: all(&args.allow_write)?,
            network: args.allow_network,
        })
    }

    /// The variable that tells a worker of its sandbox.
    pub(super) fn variable(
        &self,
        worker: &Resolved,
        model: &str,
    ) -> Result<Option<(OsString, OsString)>, Refusal> {
        if !self.confined {
            return Ok(None);
        }
        let model = absolute(Path::new(model))?;
        let sandbox = Sandbox::of(&Confined {
            worker,
            model: &model,
            libraries: libraries(),
            read: &self.read,
            write: &self.write,
            network: self.network,
        });
        let json = serde_json::to_string(&sandbox)
            .map_err(|error| Refusal::new("sandbox_failed", format!("the sandbox can't be told: {error}")))?;
        Ok(Some((Sandbox::VARIABLE.into(), json.into())))
    }

    /// In words, for `--check`.
    pub(super) fn words(&self) -> String {
        if !self.confined {
            return "none".into();
        }
        let mut words =
            "the worker reads its model, its libraries and the system's, uses compute devices".to_string();
        for (what, paths) in [("may also read", &self.read), ("may write in", &self.write)] {
            if !paths.is_empty() {
                words += &format!(", {what} {}", paths.join(", "));
            }
        }
        words + if self.network { ", may use the network" } else { ", and has no network" }
    }
}

fn absolute(path: &Path) -> Result<String, Refusal> {
    let bad = |why: String| {
        Refusal::new(
            "bad_model_path",
            format!("{} can't be put into a sandbox's rules: {why}", path.display()),
        )
    };
    let absolute = std::path::absolute(path).map_err(|error| bad(error.to_string()))?;
    absolute.into_os_string().into_string().map_err(|_| bad("it is not UTF-8".into()))
}

/// Where this process's environment has a worker look for libraries.
fn libraries() -> Vec<String> {
    let own = std::env::var_os(LLAMA_LIB);
    let own = own.as_deref().filter(|path| !path.is_empty()).map(|path| folder(Path::new(path)).to_owned());
    let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let search = std::env::split_paths(&search).map(PathBuf::into_os_string);
    own.into_iter().chain(search).filter_map(|path| path.into_string().ok()).collect()
}

/// A library's folder: its sisters lie there.
fn folder(path: &Path) -> &OsStr {
    let parent = path.parent().filter(|_| path.is_file());
    parent.unwrap_or(path).as_os_str()
}
