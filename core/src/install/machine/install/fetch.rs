//! Fetching a plan's archives: each whole, of the size and digest it was to have.

use super::{Install, Step, undoable};
use crate::install::machine::effect::{Action, Fault};
use crate::install::machine::retry::Attempts;
use crate::install::machine::{Event, Next, failure};
use crate::install::{PlannedAsset, Source};
use crate::refusal::Refusal;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

/// Most bytes of an asset whose size nobody knows.
const UNKNOWN_SIZE: u64 = 4 << 30;
const CONNECT_MS: u64 = 20_000;
const STALL_MS: u64 = 60_000;

impl Install {
    /// The fetch in flight broke off.
    pub(in crate::install::machine) fn broke(&mut self, have: u64, validator: Option<String>) {
        if let Step::Fetch(index) = self.step {
            self.attempts.broke(have, validator, self.plan().assets[index].size);
        }
    }

    /// The failed action once more, where that may help: a fetch over the network.
    pub(in crate::install::machine) fn retry(
        &mut self,
        action: &Action,
        fault: &Fault,
        events: &mut VecDeque<Event>,
    ) -> Option<Action> {
        let mut again = action.clone();
        let Action::Fetch { name, source: Source::Url { .. }, after_ms, resume, .. } = &mut again else {
            return None;
        };
        (*after_ms, *resume) = self.attempts.next(fault)?;
        events.push_back(Event::Retrying {
            name: name.clone(),
            why: fault.message.clone(),
            after_ms: *after_ms,
            have: resume.as_ref().map_or(0, |resume| resume.have),
        });
        Some(again)
    }

    pub(super) fn fetch(&mut self, index: usize, events: &mut VecDeque<Event>) -> Next {
        self.step = Step::Fetch(index);
        self.attempts = Attempts::default();
        let asset = &self.plan().assets[index];
        let from = match &asset.source {
            Source::Url { url } => url.clone(),
            Source::File { path } => path.clone(),
        };
        events.push_back(Event::Fetching { name: asset.name.clone(), size: asset.size, from });
        undoable(Action::Fetch {
            name: asset.name.clone(),
            source: asset.source.clone(),
            to: self.archive(index),
            max: asset.size.unwrap_or(UNKNOWN_SIZE),
            size: asset.size,
            after_ms: 0,
            resume: None,
            connect_ms: CONNECT_MS,
            stall_ms: STALL_MS,
        })
    }

    pub(super) fn verify(
        &mut self,
        index: usize,
        bytes: u64,
        sha256: String,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Refusal> {
        let asset = &self.plan().assets[index];
        let name = asset.name.clone();
        if let Some(expected) = &asset.sha256 {
            if let Some(size) = asset.size.filter(|size| *size != bytes) {
                return Err(failure::size(&name, size, bytes));
            }
            if !expected.eq_ignore_ascii_case(&sha256) {
                return Err(failure::digest(&name, expected, &sha256));
            }
            events.push_back(Event::Verified { name, sha256: sha256.clone() });
        }
        self.sizes.push(bytes);
        self.digests.push(sha256);
        Ok(())
    }
}

/// What an asset must be before anything is fetched, whoever planned it.
pub(super) fn check_asset(asset: &PlannedAsset) -> Result<(), Refusal> {
    match &asset.source {
        Source::Url { url } if !url.starts_with("https://") => {
            Err(Refusal::new("not_https", format!("{url:?} is not an https address"))
                .hint("archives are fetched over https only, on every hop"))
        }
        Source::Url { url } if asset.sha256.is_none() => {
            Err(Refusal::new("no_sha256", format!("no SHA-256 is known for {url}"))
                .hint("give the archive's digest with --sha256"))
        }
        _ => Ok(()),
    }
}
