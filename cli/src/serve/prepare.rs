//! From the command line to a worker that can be started: look at the model, pick a runtime, find
//! its worker, and install it where it is missing.

use super::ServeArgs;
use super::notify;
use super::sandbox::Allowed;
use crate::print::{self, plain};
use crate::pull;
use crate::runtime::{LINKED, Progress};
use std::ffi::OsString;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::capability::{CheckReport, Record, validate_flags};
use superfluid_core::install::Request;
use superfluid_core::install::machine::Purpose;
use superfluid_core::runtime::env::is_credential;
use superfluid_core::runtime::{
    Model, Pick, Place, Resolution, Resolved, RuntimeId, Sandbox, Selectors, pick, resolve,
};
use superfluid_core::wire::LoadSpec;
use superfluid_io_blocking::lease::{self, Held};
use superfluid_io_blocking::{Home, check, lookup, request};
use superfluid_io_tokio::worker::Program;

/// A model and the runtime that serves it.
pub(super) struct Choice {
    home: Home,
    /// The model's id in the API.
    pub(super) id: String,
    what: String,
    pick: Pick,
    offline: bool,
    pub(super) allowed: Allowed,
    basert_lib: Option<String>,
    spec: LoadSpec,
}

/// What the daemon needs.
pub(super) struct Prepared {
    pub(super) program: Program,
    pub(super) spec: LoadSpec,
    /// What was chosen and why.
    pub(super) words: Vec<String>,
    /// Keeps the install in its place for as long as the daemon may start its worker.
    pub(super) lease: Option<Held>,
}

/// What a worker says before it loads anything.
pub(super) struct Checked {
    /// What was chosen and why.
    pub(super) words: Vec<String>,
    pub(super) report: CheckReport,
}

/// Refuses what cannot be served before anything is fetched, bound or started.
pub(super) fn choose(args: &ServeArgs) -> Result<Choice, Refusal> {
    let home = Home::from_env()?;
    let mut model = args.model.to_str().map(String::from).ok_or_else(|| {
        let message = format!("the path {:?} is not UTF-8", args.model);
        Refusal::new("bad_model_path", message).hint("rename the model, or link to it under another name")
    })?;
    let asked = model.clone();
    let mut file = args.model.file_name().and_then(|name| name.to_str()).unwrap_or(&model).to_string();
    if pull::by_id(&model) {
        let local = pull::locate(&model, &args.selectors, args.offline || args.check)?;
        (model, file) = (local.path.to_string_lossy().into_owned(), local.name);
    }
    let inspected = lookup::inspect(Path::new(&model))?;
    let what = inspected.what().to_string();
    let id = args.model_id.clone().unwrap_or_else(|| model_id(&file));
    let repo = asked.split_once(':').map_or(asked.as_str(), |(repo, _)| repo);
    let names = [asked.as_str(), repo, file.as_str(), id.as_str()];
    let selectors = Selectors::parse(args.selectors.iter().map(String::as_str))?;
    selectors.check(&names)?;
    let pick = pick(&selectors.choose(&names), &Model::Path(inspected))?;
    let flags = args.flags();
    validate_flags(&Record::foretold(pick.runtime), &flags)?;
    let (max_batch, max_context, class_lanes) = (args.max_batch, args.max_context, args.class_lanes);
    let spec = LoadSpec { model, max_batch, max_context, class_lanes, flags };
    let (offline, basert_lib) = (args.offline, args.basert_lib.clone());
    Ok(Choice { home, id, what, pick, offline, allowed: Allowed::by(args)?, basert_lib, spec })
}

/// A file's name without the suffix that says what it is.
fn model_id(file: &str) -> String {
    match file.len().checked_sub(5).and_then(|at| file.split_at_checked(at)) {
        Some((stem, suffix)) if suffix.eq_ignore_ascii_case(".gguf") && !stem.is_empty() => stem.into(),
        _ => file.into(),
    }
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
        let lease = found.install.as_ref().map(hold).transpose()?.flatten();
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
