//! `superfluid pull`, and models that `serve` and `runtimes` are given by id.

use crate::runtime::{Progress, to_json};
use crate::{interrupt, print};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::pull::{Event, ModelId, Pulled, Revision, wanted};
use superfluid_core::runtime::format::{Format, hub_id};
use superfluid_core::runtime::{Model, Pick, Selectors, pick};
use superfluid_io_blocking::pull::{self, Hub, Reporter};

/// What `superfluid pull` takes.
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// The model: ORG/MODEL, or ORG/MODEL:QUANTIZATION for one of several GGUF files
    model: String,
    /// Pull for this runtime (llamacpp, mlx) instead of the one the id suggests
    #[arg(long = "runtime", value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// A branch, tag or commit
    #[arg(long, value_name = "R", default_value = "main")]
    revision: String,
    /// Ask nobody: say where the model is in the cache, or refuse
    #[arg(long)]
    offline: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `pull --json` prints.
#[derive(Serialize)]
struct Json {
    model: String,
    commit: Option<String>,
    path: PathBuf,
    files: Vec<String>,
    bytes: Option<u64>,
    fetched: u64,
}

/// Pulls a model and prints where it is.
pub(crate) fn run(args: &PullArgs) -> ExitCode {
    let done = fetch(args);
    done.map_or_else(|refusal| print::refusal(&refusal), |text| print::data(&text))
}

fn fetch(args: &PullArgs) -> Result<String, Refusal> {
    let id = ModelId::parse(&args.model)?;
    let revision = Revision::new(&args.revision)?;
    let format = wanted(&id, &chosen(&id, &args.selectors)?)?;
    let hub = Hub::from_env()?;
    let json = if args.offline {
        let path = pull::cached(&id, &revision, format, &hub)?;
        Json { model: id.to_string(), commit: None, path, files: Vec::new(), bytes: None, fetched: 0 }
    } else {
        let (pulled, path) =
            pull::pull(&id, &revision, format, &hub, &interrupt::cancel(), &mut Progress::new())?;
        let Pulled { model, commit, files, bytes, fetched, .. } = pulled;
        Json { model, commit: Some(commit), path, files, bytes: Some(bytes), fetched }
    };
    Ok(if args.json {
        to_json(&json)
    } else {
        format!("{}\n", print::plain(&json.path.display().to_string()))
    })
}

fn chosen(id: &ModelId, selectors: &[String]) -> Result<Pick, Refusal> {
    let selectors = Selectors::parse(selectors.iter().map(String::as_str))?;
    let (whole, repo) = (id.to_string(), id.repo());
    let names = [whole.as_str(), repo.as_str()];
    selectors.check(&names)?;
    pick(&selectors.choose(&names), &Model::Id(whole.clone()))
}

/// Whether a model is named by its id in a hub: it reads as one, and nothing is at that path.
pub(crate) fn by_id(model: &str) -> bool {
    hub_id(model) && Path::new(model).symlink_metadata().is_err()
}

/// A model that was named by its id.
pub(crate) struct Local {
    /// Where it is on this machine.
    pub(crate) path: PathBuf,
    /// What it goes by in the API unless told otherwise.
    pub(crate) name: String,
}

/// Finds a model in the cache, and pulls it where it is not there and that is allowed.
pub(crate) fn locate(model: &str, selectors: &[String], offline: bool) -> Result<Local, Refusal> {
    let id = ModelId::parse(model)?;
    let format = wanted(&id, &chosen(&id, &own(&id, selectors))?)?;
    let (revision, hub) = (Revision::default(), Hub::from_env()?);
    let path = match pull::cached(&id, &revision, format, &hub) {
        Ok(path) => path,
        Err(refusal) if refusal.code == "not_in_cache" && !offline => {
            pull::pull(&id, &revision, format, &hub, &interrupt::cancel(), &mut Progress::new())?.1
        }
        Err(refusal) if refusal.code == "not_in_cache" => {
            return Err(refusal.hint("or serve without --offline, which pulls it on first use"));
        }
        Err(refusal) => return Err(refusal),
    };
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = if format == Format::MlxDirectory { id.name } else { file };
    Ok(Local { path, name })
}

/// The selectors that are for this model: those for others are for others to check.
fn own(id: &ModelId, selectors: &[String]) -> Vec<String> {
    let (whole, repo) = (id.to_string(), id.repo());
    let mine = |selector: &&String| match selector.split_once('=') {
        Some((model, _)) => model == whole || model == repo,
        None => true,
    };
    selectors.iter().filter(mine).cloned().collect()
}

impl Reporter for Progress {
    fn event(&mut self, event: &Event) {
        if let Event::Progress { done, total } = event {
            return self.step(*done, Some(*total));
        }
        self.end();
        match event {
            Event::Waiting => print::note("waiting for another pull of this model to end"),
            Event::Listed { model, commit, files, bytes } => {
                let word = if *files == 1 { "file" } else { "files" };
                let short = commit.get(..12).unwrap_or(commit);
                print::note(&format!("{model} at {short}: {files} {word}, {}", print::bytes(*bytes)));
            }
            Event::Present { name } => print::note(&format!("{name} is there already")),
            Event::Fetching { name, size, have, from } => {
                let rest = match have {
                    0 => String::new(),
                    have => format!(", going on after {}", print::bytes(*have)),
                };
                print::note(&format!("fetching {name} ({}) from {from}{rest}", print::bytes(*size)));
                self.begin(name, Some(*size));
            }
            Event::Retrying { name, why, after_ms, have } => {
                let rest = match have {
                    0 => String::new(),
                    have => format!(", going on after {}", print::bytes(*have)),
                };
                let wait = Duration::from_millis(*after_ms);
                print::note(&format!("{name}: {why}; trying again in {wait:?}{rest}"));
                self.begin_again(name);
            }
            Event::Verified { name, digest } => print::note(&format!("verified {name}: {digest}")),
            // Progress has been dealt with; an end is told by whoever asked.
            Event::Progress { .. } | Event::Finished(_) | Event::Failed(_) => {}
        }
    }
}
