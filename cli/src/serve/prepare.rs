//! From a model and its runtime to a worker that can be started: found, and installed where it is
//! missing.

use super::notify;
use super::sandbox::Allowed;
use crate::print::{self, plain};
use crate::runtime::{LINKED, Progress};
use std::ffi::OsString;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::capability::{CheckReport, validate_flags};
use superfluid_core::install::Request;
use superfluid_core::install::machine::Purpose;
use superfluid_core::runtime::env::is_credential;
use superfluid_core::runtime::{Pick, Place, Resolution, Resolved, RuntimeId, Sandbox, resolve};
use superfluid_core::wire::LoadSpec;
use superfluid_io_blocking::lease::{self, Held};
use superfluid_io_blocking::{Home, check, lookup, request};
use superfluid_io_tokio::worker::Program;

/// A model and the runtime that serves it.
pub(super) struct Choice {
    pub(super) home: Home,
    /// The model's id in the API.
    pub(super) id: String,
    pub(super) what: String,
    pub(super) pick: Pick,
    pub(super) offline: bool,
    /// Whether it is loaded from the start, and not on its first use.
    pub(super) at_start: bool,
    pub(super) allowed: Allowed,
    pub(super) basert_lib: Option<String>,
    pub(super) spec: LoadSpec,
}

/// What the daemon needs.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) program: Program,
    pub(super) spec: LoadSpec,
    /// What was chosen and why.
    pub(super) words: Vec<String>,
    /// Keeps the install in its place for as long as the daemon may start its worker.
    #[expect(dead_code, reason = "held for what its drop does")]
    pub(super) lease: Option<Arc<Held>>,
}

/// What a worker says before it loads anything.
pub(super) struct Checked {
    /// What was chosen and why.
    pub(super) words: Vec<String>,
    pub(super) report: CheckReport,
}

impl Choice {
    pub(super) fn runtime(&self) -> RuntimeId {
        self.pick.runtime
    }

    /// The worker, or `None` where its runtime has to be installed first and may be.
    pub(super) fn find(&self) -> Result<Option<Prepared>, Refusal> {
        match self.resolve()? {
            Resolution::Found(found) => self.prepared(&found).map(Some),
            Resolution::NotInstalled { refusal, .. } if self.offline => {
                Err(refusal.hint("or serve without --offline, which installs it on first use"))
            }
            Resolution::NotInstalled { .. } => Ok(None),
        }
    }

    /// The worker's own check of the model and the flags, or `None` where its runtime has to be
    /// installed first and may be.
    pub(super) fn look(&self) -> Result<Option<Checked>, Refusal> {
        let found = match self.resolve()? {
            Resolution::Found(found) => found,
            Resolution::NotInstalled { refusal, .. } if self.offline => {
                return Err(refusal.hint("or serve without --offline, which installs it on first use"));
            }
            Resolution::NotInstalled { .. } => return Ok(None),
        };
        let report = self.check(&found)?;
        validate_flags(&report.capabilities, &self.spec.flags)?;
        Ok(Some(Checked { words: self.words(&found), report }))
    }

    /// The model's path and what it is.
    pub(super) fn described(&self) -> String {
        format!("{} ({})", plain(&self.spec.model), self.what)
    }

    fn words(&self, found: &Resolved) -> Vec<String> {
        vec![
            format!("model:   {}", self.described()),
            format!("runtime: {} ({})", self.runtime(), plain(&self.pick.reason)),
            format!("worker:  {} ({})", plain(&found.program), place(found)),
        ]
    }

    /// Installs the runtime, then finds its worker. Blocks for as long as the install takes.
    pub(super) fn install(&self) -> Result<Prepared, Refusal> {
        let runtime = self.runtime();
        let asked =
            Request { runtime, version: None, backend: None, from: None, sha256: None, untested: false };
        let planning = request::plans(&asked)?;
        for warning in &planning.warnings {
            print::note(&format!("warning: {warning}"));
        }
        request::install(runtime, planning, Purpose::Install, &self.home, &mut Progress::new())?;
        match self.resolve()? {
            Resolution::Found(found) => self.prepared(&found),
            Resolution::NotInstalled { refusal, .. } => Err(refusal),
        }
    }

    fn resolve(&self) -> Result<Resolution, Refusal> {
        let runtime = self.runtime();
        let named = self.basert_lib.as_deref();
        let facts = lookup::resolve_facts_with(runtime, &LINKED, &self.home, named)?;
        resolve(runtime, self.pick.install.as_ref(), &facts)
    }

    fn prepared(&self, found: &Resolved) -> Result<Prepared, Refusal> {
        if !self.spec.flags.is_plain() {
            validate_flags(&self.check(found)?.capabilities, &self.spec.flags)?;
        }
        let mut program = program(found, "serve");
        program.env.extend(self.allowed.variable(found, &self.spec.model)?);
        let what = format!("superfluid serve {}", self.spec.model);
        let hold = |install| lease::hold(self.runtime(), install, &what, &self.home);
        let lease = found.install.as_ref().map(hold).transpose()?.flatten().map(Arc::new);
        Ok(Prepared { program, spec: self.spec.clone(), words: self.words(found), lease })
    }

    /// What its worker says of the model before loading it.
    fn check(&self, found: &Resolved) -> Result<CheckReport, Refusal> {
        let mut asked = program(found, "check");
        asked.args.extend(["--model".into(), OsString::from(&self.spec.model)]);
        check(self.runtime(), &asked.path, &asked.args, &asked.env)
    }
}

fn place(found: &Resolved) -> String {
    let place = match found.place {
        Place::Variable => "named by its environment variable",
        Place::Linked => "built in",
        Place::Beside => "beside superfluid",
        Place::Installed => "installed",
    };
    match &found.install {
        Some(install) if found.place == Place::Installed => format!("install {install}"),
        Some(install) => format!("{place}, libraries of install {install}"),
        None => place.into(),
    }
}

/// The worker doing `verb` with this process's environment, credentials and what it must not see
/// left out.
fn program(found: &Resolved, verb: &str) -> Program {
    let keep = |name: &OsString| {
        let name = name.to_string_lossy();
        let own = name == Sandbox::VARIABLE || notify::VARIABLES.contains(&&*name);
        !is_credential(&name) && !own && !found.unset.iter().any(|unset| *unset == name)
    };
    Program {
        path: (&found.program).into(),
        args: found.args(verb).into_iter().map(OsString::from).collect(),
        env: std::env::vars_os().filter(|(name, _)| keep(name)).collect(),
    }
}
