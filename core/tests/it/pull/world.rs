//! A model of a hub and of the cache: effects carried out on maps.

use std::collections::BTreeMap;
use superfluid_core::install::machine::{Fault, FaultKind};
use superfluid_core::pull::{
    Action, Answer, Digest, Effect, Event, Machine, ModelId, Outcome, Place, Pulled, Revision, Settings,
};
use superfluid_core::runtime::format::Format;
use superfluid_core::{Instant, Refusal};

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A digest that depends on the text alone.
pub(crate) fn digest(text: &str) -> String {
    let seed = text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(1_000_003) ^ u64::from(byte));
    format!("{seed:016x}").repeat(4)
}

/// A repository and a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// What the repository holds.
    pub(crate) files: BTreeMap<String, String>,
    /// What the cache holds; a link's text begins with `-> `.
    pub(crate) cache: BTreeMap<String, String>,
    pub(crate) locked: bool,
    pub(crate) free: Option<u64>,
}

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Self { files, ..Self::default() }
    }

    pub(crate) fn listing(&self) -> String {
        let one = |(path, text): (&String, &String)| {
            let (size, digest) = (text.len(), digest(text));
            format!(
                r#"{{"rfilename":"{path}","size":{size},"lfs":{{"sha256":"{digest}","size":{size},"pointerSize":1}}}}"#
            )
        };
        let siblings: Vec<String> = self.files.iter().map(one).collect();
        format!(r#"{{"sha":"{COMMIT}","siblings":[{}]}}"#, siblings.join(","))
    }

    pub(crate) fn perform(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Lock { .. } => {
                assert!(!self.locked, "locked twice");
                self.locked = true;
                Outcome::Locked
            }
            Action::Unlock => {
                self.locked = false;
                Outcome::Done
            }
            Action::Ask { .. } => {
                Outcome::Answered(Answer { status: 200, body: self.listing(), ..Answer::default() })
            }
            Action::Look { blobs } => {
                let size = |path: &String| self.cache.get(path).map(|text| text.len() as u64);
                let place = |(whole, partial): &(String, String)| Place {
                    whole: size(whole),
                    partial: size(partial),
                };
                Outcome::Looked { places: blobs.iter().map(place).collect(), free: self.free }
            }
            Action::Fetch { name, to, resume, .. } => {
                let text = self.files[name].clone();
                let have = resume.as_ref().map_or(0, |resume| usize::try_from(resume.have).expect("small"));
                let before = if have == 0 { "" } else { self.cache[to].get(..have).expect("it is there") };
                let whole = format!("{before}{}", &text[have..]);
                self.cache.insert(to.clone(), whole.clone());
                Outcome::Fetched { bytes: whole.len() as u64, hash: digest(&whole) }
            }
            Action::Keep { from, to } => {
                let text = self.cache.remove(from).expect("it is there");
                self.cache.insert(to.clone(), text);
                Outcome::Done
            }
            Action::Discard { path } => {
                self.cache.remove(path);
                Outcome::Done
            }
            Action::Link { path, target } => {
                self.cache.insert(path.clone(), format!("-> {target}"));
                Outcome::Done
            }
            Action::Write { path, text } => {
                self.cache.insert(path.clone(), text.clone());
                Outcome::Done
            }
        }
    }

    /// The bytes at a path of the cache, through a link.
    pub(crate) fn read(&self, path: &str) -> Option<&str> {
        let text = self.cache.get(path)?;
        let Some(target) = text.strip_prefix("-> ") else { return Some(text) };
        let mut at: Vec<&str> = path.split('/').collect();
        at.pop();
        for part in target.split('/') {
            match part {
                ".." => drop(at.pop()),
                part => at.push(part),
            }
        }
        self.cache.get(&at.join("/")).map(String::as_str)
    }
}

pub(crate) fn machine(id: &str, format: Format) -> Machine {
    let id = ModelId::parse(id).expect("an id");
    Machine::new(id, Revision::default(), format, Settings::default())
}

/// A finished pull.
pub(crate) struct Done {
    pub(crate) result: Result<Pulled, Refusal>,
    pub(crate) events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
}

impl Done {
    pub(crate) fn fetches(&self) -> Vec<(String, u64)> {
        let fetch = |effect: &Effect| match &effect.action {
            Action::Fetch { name, resume, .. } => {
                Some((name.clone(), resume.as_ref().map_or(0, |resume| resume.have)))
            }
            _ => None,
        };
        self.effects.iter().filter_map(fetch).collect()
    }
}

/// Drives a pull to its end; `answer` may put another outcome in an effect's place.
pub(crate) fn drive(
    mut machine: Machine,
    world: &mut World,
    answer: &mut dyn FnMut(&Effect, &mut World) -> Option<Outcome>,
) -> Done {
    let (mut events, mut effects) = (Vec::new(), Vec::new());
    let mut now = 0;
    loop {
        machine.check_invariants().expect("invariants hold");
        while let Some(event) = machine.poll_event() {
            events.push(event);
        }
        let Some(effect) = machine.poll_effect() else { break };
        assert!(machine.poll_effect().is_none(), "one effect at a time");
        let outcome = answer(&effect, world).unwrap_or_else(|| world.perform(&effect.action));
        effects.push(effect.clone());
        now += 1;
        machine.handle_done(effect.id, outcome, Instant::from_millis(now)).expect("the outcome fits");
    }
    assert!(!world.locked, "the lock was given back");
    Done { result: machine.result().expect("it has ended").clone(), events, effects }
}

pub(crate) fn drive_well(machine: Machine, world: &mut World) -> Done {
    drive(machine, world, &mut |_, _| None)
}

pub(crate) fn network() -> Fault {
    Fault::new(FaultKind::Network, "the connection broke")
}

pub(crate) fn status(status: u16) -> Answer {
    Answer { status, ..Answer::default() }
}

pub(crate) fn git(hex: &str) -> Digest {
    Digest::Git(hex.into())
}
