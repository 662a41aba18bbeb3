//! `--runtime`: for one model or for all, a runtime, one of its installs, or `auto`.

use super::RuntimeId;
use crate::install::InstallName;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a selector chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// By the model's format.
    #[default]
    Auto,
    /// This runtime, perhaps exactly this install of it.
    Runtime(RuntimeId, Option<InstallName>),
}

impl Choice {
    /// Reads `auto`, `<id>` or `<id>@<install>`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        match text.split_once('@') {
            None => Ok(Self::Runtime(RuntimeId::parse(text)?, None)),
            Some((id, install)) => {
                let (id, install) = (RuntimeId::parse(id)?, InstallName::new(install)?);
                if id == RuntimeId::Mock {
                    return Err(Refusal::new(
                        "no_such_install",
                        "the mock runtime is built in and has no installs",
                    )
                    .hint("pass --runtime mock"));
                }
                Ok(Self::Runtime(id, Some(install)))
            }
        }
    }
}

/// One `--runtime`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    /// The model it is for, as the user wrote it; `None` for all.
    pub model: Option<String>,
    /// What it chooses.
    pub choice: Choice,
}

impl Selector {
    /// Reads `[<model>=]<choice>`. A model's path may hold `=` itself; the last one counts.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let (model, choice) = match text.rsplit_once('=') {
            Some((model, choice)) => (Some(model), choice),
            None => (None, text),
        };
        if model == Some("") {
            return Err(Refusal::new("bad_selector", format!("--runtime {text} names no model"))
                .hint("write --runtime <model>=<id>, or --runtime <id> for all models"));
        }
        Ok(Self { model: model.map(String::from), choice: Choice::parse(choice)? })
    }
}

/// Every `--runtime` of a command, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selectors(pub Vec<Selector>);

impl Selectors {
    /// Reads all of them.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Refusal> {
        texts.into_iter().map(Selector::parse).collect::<Result<_, _>>().map(Self)
    }

    /// What they choose for a model that goes by any of `names` (the path or id as given, the name
    /// it is served under): the last one for it, else the last one for all.
    pub fn choose(&self, names: &[&str]) -> Choice {
        let named =
            |selector: &&Selector| selector.model.as_deref().is_some_and(|model| names.contains(&model));
        let one = self.0.iter().rev().find(named);
        let all = || self.0.iter().rev().find(|selector| selector.model.is_none());
        one.or_else(all).map(|selector| selector.choice.clone()).unwrap_or_default()
    }

    /// Refuses a selector for a model that is not among `names`, those of every model served.
    pub fn check(&self, names: &[&str]) -> Result<(), Refusal> {
        let stray = self.0.iter().filter_map(|selector| selector.model.as_deref());
        match stray.into_iter().find(|model| !names.contains(model)) {
            None => Ok(()),
            Some(model) => {
                Err(Refusal::new("bad_selector", format!("--runtime names {model:?}, which is not served"))
                    .hint(format!("the models are {}", names.join(", "))))
            }
        }
    }
}
