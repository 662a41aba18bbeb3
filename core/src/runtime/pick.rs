//! Which runtime serves a model: what `--runtime` says, else the one that reads its format; and
//! always only one that does.

use super::format::{Format, Inspected, Verdict};
use super::{Choice, RuntimeId};
use crate::install::InstallName;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

/// A model as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// A file or folder that was looked at.
    Path(Inspected),
    /// The id of a model in a hub.
    Id(String),
}

/// A runtime for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// Which.
    pub runtime: RuntimeId,
    /// Exactly this install, where the user said so.
    pub install: Option<InstallName>,
    /// Why, for people: `--runtime`, or what the model is.
    pub reason: String,
}

impl RuntimeId {
    /// The format it reads; the mock reads none and takes anything.
    pub const fn format(self) -> Option<Format> {
        match self {
            Self::Llamacpp => Some(Format::Gguf),
            Self::Mlx => Some(Format::MlxDirectory),
            Self::Basert => Some(Format::BaseBundle),
            Self::Mock => None,
        }
    }
}

/// The runtime an id's name suggests: gguf, mlx, else basert.
pub fn infer(id: &str) -> RuntimeId {
    let lower = id.to_ascii_lowercase();
    if lower.contains("gguf") {
        RuntimeId::Llamacpp
    } else if lower.contains("mlx") {
        RuntimeId::Mlx
    } else {
        RuntimeId::Basert
    }
}

/// Picks a runtime, or refuses before anything loads.
pub fn pick(choice: &Choice, model: &Model) -> Result<Pick, Refusal> {
    match (choice, model) {
        (Choice::Runtime(runtime, install), Model::Path(inspected)) => {
            fits(*runtime, inspected)?;
            let reason = format!("chosen with --runtime; the model is {}", inspected.what());
            Ok(Pick { runtime: *runtime, install: install.clone(), reason })
        }
        (Choice::Runtime(runtime, install), Model::Id(_)) => {
            let reason = "chosen with --runtime".to_string();
            Ok(Pick { runtime: *runtime, install: install.clone(), reason })
        }
        (Choice::Auto, Model::Path(inspected)) => match &inspected.verdict {
            Verdict::Model(format) => {
                let reason = format!("reads {}", format.noun());
                Ok(Pick { runtime: format.runtime(), install: None, reason })
            }
            Verdict::Foreign { what, hint } => {
                let message = format!("{} is no model superfluid serves: it is {what}", inspected.name);
                Err(Refusal::new("unsupported_format", message).hint(hint.clone()))
            }
        },
        (Choice::Auto, Model::Id(id)) => {
            let runtime = infer(id);
            Ok(Pick { runtime, install: None, reason: format!("inferred from the name {id}") })
        }
    }
}

fn fits(runtime: RuntimeId, inspected: &Inspected) -> Result<(), Refusal> {
    let Some(reads) = runtime.format() else { return Ok(()) };
    let what = match &inspected.verdict {
        Verdict::Model(format) if *format == reads => return Ok(()),
        _ => inspected.what(),
    };
    let message = format!(
        "runtime {runtime} cannot serve {}: it reads {}, and this is {what}",
        inspected.name,
        reads.noun()
    );
    Err(Refusal::new("unsupported_format", message).hint(match &inspected.verdict {
        Verdict::Model(format) => format!("pass --runtime {}, or convert the model", format.runtime()),
        Verdict::Foreign { hint, .. } => hint.clone(),
    }))
}
