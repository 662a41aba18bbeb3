//! How each model's worker is started: found once and kept, so that a running daemon keeps the
//! installs it started with; installed on first use.

use super::prepare::{Choice, Prepared};
use std::sync::{Arc, Mutex, PoisonError};
use superfluid_core::Refusal;
use superfluid_core::fleet::ModelIx;
use superfluid_io_tokio::fleet::{Launch, Prepare};
use tokio::sync::mpsc::UnboundedSender;

/// See the module.
pub(super) struct Launches {
    choices: Vec<Choice>,
    /// By model.
    prepared: Mutex<Vec<Option<Prepared>>>,
    /// Held while one is found or installed: models of one runtime share its install.
    turn: Mutex<()>,
    /// For the screen.
    words: UnboundedSender<String>,
}

impl Launches {
    pub(super) fn new(choices: Vec<Choice>, words: UnboundedSender<String>) -> Self {
        let prepared = Mutex::new(choices.iter().map(|_| None).collect());
        Self { choices, prepared, turn: Mutex::default(), words }
    }

    /// Finds the workers of the models that are loaded from the start; what was chosen, and why.
    ///
    /// # Errors
    /// Where a runtime is missing and may not be installed.
    pub(super) fn find_those_at_start(&self) -> Result<Vec<String>, Refusal> {
        let mut words = Vec::new();
        for (at, choice) in self.choices.iter().enumerate().filter(|(_, choice)| choice.at_start) {
            if let Some(prepared) = choice.find()? {
                words.extend(prepared.words.iter().cloned());
                self.keep(at, prepared);
            }
        }
        Ok(words)
    }

    pub(super) fn into_prepare(self) -> Prepare {
        let launches = Arc::new(self);
        Box::new(move |model| {
            let launches = Arc::clone(&launches);
            Box::pin(async move {
                if let Some(prepared) = launches.kept(model.0) {
                    return Ok(launch(prepared));
                }
                let preparing = tokio::task::spawn_blocking(move || launches.prepare(model));
                preparing.await.unwrap_or_else(|error| {
                    Err(Refusal::new(
                        "internal_error",
                        format!("the install ended without a result: {error}"),
                    ))
                })
            })
        })
    }

    /// Blocks for as long as an install takes.
    fn prepare(&self, model: ModelIx) -> Result<Launch, Refusal> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let choice = &self.choices[model.0];
        let prepared = match choice.find()? {
            Some(prepared) => prepared,
            None => {
                self.say(format!("the {} runtime is not installed; installing it", choice.runtime()));
                choice.install()?
            }
        };
        prepared.words.iter().cloned().for_each(|line| self.say(line));
        self.keep(model.0, prepared.clone());
        Ok(launch(prepared))
    }

    fn say(&self, line: String) {
        let _ = self.words.send(line);
    }

    fn kept(&self, at: usize) -> Option<Prepared> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)[at].clone()
    }

    fn keep(&self, at: usize, prepared: Prepared) {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(prepared);
    }
}

fn launch(prepared: Prepared) -> Launch {
    Launch { program: prepared.program, spec: prepared.spec }
}
