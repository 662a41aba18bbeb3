//! A model of a runtime's directory: a map of paths, and effects carried out on it.

use std::collections::BTreeMap;
use superfluid_core::Instant;
use superfluid_core::Refusal;
use superfluid_core::install::archive::{Kind, Member};
use superfluid_core::install::inventory::{Content, Found};
use superfluid_core::install::machine::{
    Action, Effect, Entry, EntryKind, Event, Fault, FaultKind, Finished, Listing, Machine, Outcome, Run,
};
use superfluid_core::install::pip::Variable;
use superfluid_core::install::{Lease, Source};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Dir,
    File(String),
    Link(String),
}

/// A runtime's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) locked: bool,
    /// Who uses what.
    pub(crate) leases: Vec<Lease>,
    pub(crate) stale: Vec<String>,
    /// It can't exchange two names.
    pub(crate) plain: bool,
}

/// A digest that depends on the name alone.
pub(crate) fn digest(name: &str) -> String {
    let seed = name.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(1_000_003) ^ u64::from(byte));
    format!("{seed:016x}").repeat(4)
}

/// What a check of a device of `backend` prints.
pub(crate) fn report(backends: &[&str]) -> Run {
    report_of("llamacpp", backends)
}

/// The same of another runtime's worker.
pub(crate) fn report_of(runtime: &str, backends: &[&str]) -> Run {
    let device = |backend: &&str| {
        let kind = if *backend == "cpu" { "cpu" } else { "gpu" };
        format!(r#"{{"backend":"{backend}","name":"D","kind":"{kind}","memory_total":0,"memory_free":0}}"#)
    };
    let devices: Vec<String> = backends.iter().map(device).collect();
    let stdout = format!(
        r#"{{"runtime":"{runtime}","worker":"0","protocol":1,"version":"b","formats":["gguf"],"devices":[{}],"capabilities":{{}}}}"#,
        devices.join(",")
    );
    Run::Exited { code: Some(0), signal: None, stdout, stderr: String::new() }
}

pub(crate) fn file(path: &str) -> Member {
    Member { path: path.into(), kind: Kind::File { executable: false }, size: 3 }
}

/// The members of every archive in the model: a Python, or llama.cpp.
pub(crate) fn members(archive: &str) -> Vec<Member> {
    if archive.starts_with("cpython") {
        let kind = Kind::Symlink { target: "python3.12".into() };
        let link = Member { path: "python/bin/python3".into(), kind, size: 0 };
        return vec![link, file("python/bin/python3.12"), file("python/lib/python3.12/os.py")];
    }
    vec![file("llama/libllama.so"), file("llama/libggml.so"), file("llama/LICENSE")]
}

impl Disk {
    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.nodes.retain(|at, _| at != path && !at.starts_with(&below));
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Fault> {
        if !self.nodes.contains_key(from) {
            return Err(Fault::new(FaultKind::NotFound, format!("{from} is not there")));
        }
        if self.nodes.contains_key(to) {
            return Err(Fault::new(FaultKind::Other, format!("{to} is there")));
        }
        let below = format!("{from}/");
        let moved: Vec<String> =
            self.nodes.keys().filter(|at| *at == from || at.starts_with(&below)).cloned().collect();
        for path in moved {
            if let Some(node) = self.nodes.remove(&path) {
                self.nodes.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
        Ok(())
    }

    fn new_node(&mut self, path: &str, node: Node) -> Result<(), Fault> {
        match path.rsplit_once('/') {
            Some((parent, _)) if self.nodes.get(parent) != Some(&Node::Dir) => {
                return Err(Fault::new(FaultKind::NotFound, format!("{parent} is no folder")));
            }
            _ => {}
        }
        if self.nodes.insert(path.into(), node).is_some() {
            return Err(Fault::new(FaultKind::Other, format!("{path} was there")));
        }
        Ok(())
    }

    /// Carries an effect out. `check` is what the staged worker's check brings.
    pub(crate) fn perform(&mut self, action: &Action, check: &dyn Fn(&str) -> Run) -> Outcome {
        match self.attempt(action, check) {
            Ok(outcome) => outcome,
            Err(fault) => Outcome::Failed(fault),
        }
    }

    fn attempt(&mut self, action: &Action, check: &dyn Fn(&str) -> Run) -> Result<Outcome, Fault> {
        match action {
            Action::Lock { .. } => {
                assert!(!self.locked, "locked twice");
                self.locked = true;
                return Ok(Outcome::Locked);
            }
            Action::List => return Ok(Outcome::Listing(self.listing())),
            Action::Fetch { source, to, .. } => {
                let Source::File { path } = source else { unreachable!("the model has no network") };
                self.new_node(to, Node::File(path.clone()))?;
                let name = path.rsplit('/').next().unwrap_or_default();
                return Ok(Outcome::Fetched { bytes: 9, sha256: digest(name) });
            }
            Action::Survey { name, .. } => return Ok(Outcome::Members { members: members(name) }),
            Action::Run { program, args, env, .. } => return self.pip(program, args, env).map(Outcome::Ran),
            Action::Check { worker, .. } => {
                assert!(matches!(self.nodes.get(worker), Some(Node::File(_))), "no worker at {worker}");
                return Ok(Outcome::Ran(check(worker)));
            }
            Action::Inventory { path } => return Ok(Outcome::Inventory { files: self.inventory(path) }),
            Action::Unlock => self.locked = false,
            Action::MakeDir { path } => self.new_node(path, Node::Dir)?,
            Action::Remove { path } => self.remove(path),
            Action::MakeFolders { into, dirs } => {
                for dir in dirs {
                    self.new_node(&format!("{into}/{dir}"), Node::Dir)?;
                }
            }
            Action::Unpack { into, files, archive, .. } => {
                for file in files {
                    let text = format!("{:?}:{}", self.nodes.get(archive), file.member);
                    self.new_node(&format!("{into}/{}", file.path), Node::File(text))?;
                }
            }
            Action::MakeLinks { into, links } => {
                for link in &links.links {
                    self.new_node(&format!("{into}/{}", link.path), Node::Link(link.target.clone()))?;
                }
            }
            Action::CopyProgram { from, to } => self.new_node(to, Node::File(from.clone()))?,
            Action::Write { path, text } => self.new_node(path, Node::File(text.clone()))?,
            Action::SyncTree { .. } | Action::SyncNames => {}
            Action::Rename { from, to } => self.rename(from, to)?,
            Action::Exchange { .. } if self.plain => {
                return Err(Fault::new(FaultKind::Unsupported, "it cannot exchange names"));
            }
            Action::Exchange { one, other } => {
                self.rename(one, ".between")?;
                self.rename(other, one)?;
                self.rename(".between", other)?;
            }
            Action::SetLink { link, target } => {
                self.remove(link);
                self.new_node(link, Node::Link(target.clone()))?;
            }
            Action::SetFile { path, text } => {
                self.remove(path);
                self.new_node(path, Node::File(text.clone()))?;
            }
        }
        Ok(Outcome::Done)
    }

    /// pip in the model: a file for each requirement, and a launcher.
    fn pip(&mut self, program: &str, args: &[String], env: &[Variable]) -> Result<Run, Fault> {
        assert!(matches!(self.nodes.get(program), Some(Node::Link(_))), "no interpreter at {program}");
        let after =
            |flag: &str| args[args.iter().position(|arg| arg == flag).expect("it is passed") + 1].clone();
        let (target, list) = (after("--target"), after("-r"));
        let list = self.text(&list).expect("the requirements were written");
        for variable in env {
            if let Variable::Set { name, value } = variable
                && name == "TMPDIR"
            {
                self.new_node(&format!("{value}/scratch"), Node::File("half".into()))?;
            }
        }
        self.new_node(&target, Node::Dir)?;
        for line in list.lines() {
            let package = line.split("==").next().expect("a package");
            self.new_node(&format!("{target}/{package}.py"), Node::File(line.into()))?;
        }
        self.new_node(&format!("{target}/bin"), Node::Dir)?;
        self.new_node(&format!("{target}/bin/launcher"), Node::File(format!("#!{program}")))?;
        Ok(Run::Exited { code: Some(0), signal: None, stdout: String::new(), stderr: String::new() })
    }

    /// Every file and link below a folder.
    pub(crate) fn inventory(&self, root: &str) -> Vec<Found> {
        let below = self.nodes.iter().filter_map(|(path, node)| {
            let path = path.strip_prefix(root)?.strip_prefix('/')?.to_string();
            let content = match node {
                Node::Dir => return None,
                Node::File(text) => {
                    Content::File { size: text.len() as u64, sha256: digest(text), executable: false }
                }
                Node::Link(link) => Content::Link { link: link.clone() },
            };
            Some(Found { path, content: Ok(content) })
        });
        below.collect()
    }

    fn text(&self, path: &str) -> Option<String> {
        match self.nodes.get(path) {
            Some(Node::File(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub(crate) fn listing(&self) -> Listing {
        let top = self.nodes.iter().filter(|(path, _)| !path.contains('/'));
        let entries = top.map(|(name, node)| Entry {
            name: name.clone(),
            kind: match node {
                Node::Dir => EntryKind::Dir,
                Node::File(_) => EntryKind::Other,
                Node::Link(_) => EntryKind::Symlink,
            },
            manifest: self.text(&format!("{name}/runtime.json")),
            worker: ["llamacpp", "mlx"]
                .iter()
                .any(|id| self.nodes.contains_key(&format!("{name}/bin/superfluid-worker-{id}"))),
        });
        let current = match self.nodes.get("current") {
            Some(Node::Link(target)) => Some(target.clone()),
            _ => None,
        };
        Listing {
            entries: entries.collect(),
            current,
            pinned: self.text("pinned"),
            leases: self.leases.clone(),
            stale: self.stale.clone(),
        }
    }

    /// What people see: everything but what begins with a dot.
    pub(crate) fn visible(&self) -> BTreeMap<String, Node> {
        self.nodes
            .iter()
            .filter(|(path, _)| !path.starts_with('.'))
            .map(|(p, n)| (p.clone(), n.clone()))
            .collect()
    }

    /// Everything below one install.
    pub(crate) fn install(&self, name: &str) -> BTreeMap<String, Node> {
        let below = format!("{name}/");
        let inside = self.nodes.iter().filter(|(path, _)| *path == name || path.starts_with(&below));
        inside.map(|(path, node)| (path.clone(), node.clone())).collect()
    }
}

/// A finished run: its result, its events and its effects.
pub(crate) struct Done {
    pub(crate) result: Result<Finished, Refusal>,
    pub(crate) events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
}

/// Drives a machine to its end; `answer` may put another outcome in an effect's place.
pub(crate) fn drive(
    mut machine: Machine,
    disk: &mut Disk,
    check: &dyn Fn(&str) -> Run,
    answer: &mut dyn FnMut(&Effect) -> Option<Outcome>,
) -> Done {
    let (mut events, mut effects) = (Vec::new(), Vec::new());
    let mut now = 0;
    loop {
        machine.check_invariants().expect("invariants hold");
        while let Some(event) = machine.poll_event() {
            events.push(event);
        }
        let Some(effect) = machine.poll_effect() else { break };
        machine.check_invariants().expect("invariants hold");
        assert!(machine.poll_effect().is_none(), "one effect at a time");
        let outcome = answer(&effect).unwrap_or_else(|| disk.perform(&effect.action, check));
        effects.push(effect.clone());
        now += 1;
        machine.handle_done(effect.id, outcome, Instant::from_millis(now)).expect("the outcome fits");
    }
    let result = machine.result().expect("it has ended").clone();
    assert!(!disk.locked, "the lock was given back");
    Done { result, events, effects }
}

/// Drives a machine on a world where nothing fails and every backend has a device.
pub(crate) fn drive_well(machine: Machine, disk: &mut Disk) -> Done {
    let check = |_: &str| report(&["cuda", "vulkan", "cpu"]);
    drive(machine, disk, &check, &mut |_| None)
}
