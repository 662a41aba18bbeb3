//! Landlock, no new privileges, and no sockets to the network.

use super::{failed, sockets};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::runtime::Sandbox;

/// The newest rules this was written for; an older kernel does what it can.
const KNOWN: ABI = ABI::V6;

pub(super) fn enter(sandbox: &Sandbox) -> Result<Vec<String>, Refusal> {
    let restricted = restrict(sandbox).map_err(|error| failed(&error.to_string()))?;
    if !restricted.no_new_privs {
        return Err(failed("the kernel refuses to give up new privileges"));
    }
    let can = match restricted.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => ABI::Unsupported,
    };
    let mut missing = Vec::new();
    if can < ABI::V1 {
        missing.push("other files (Linux 5.13 can, with Landlock enabled)".to_string());
    }
    // Landlock knows TCP alone; without a socket there is no other way out either.
    if !sandbox.network && sockets::forbid().is_err() {
        missing.push(match can < ABI::V4 {
            true => "the network (a kernel with seccomp filters can)".to_string(),
            false => "the network but TCP (a kernel with seccomp filters can)".to_string(),
        });
    }
    Ok(missing)
}

fn restrict(sandbox: &Sandbox) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?;
    if !sandbox.network {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let rules = rules.scope(Scope::from_all(KNOWN))?.create()?;
    let rules = allow(rules, &sandbox.read, AccessFs::from_read(KNOWN))?;
    let rules = allow(rules, &model(&sandbox.model), AccessFs::from_read(KNOWN))?;
    let device = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    let rules = allow(rules, &sandbox.devices, device)?;
    allow(rules, &sandbox.write, AccessFs::from_all(KNOWN))?.restrict_self()
}

/// Paths that can't be opened allow nothing.
fn allow(
    rules: RulesetCreated,
    paths: &[String],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let all: Vec<PathBuf> = paths.iter().flat_map(|path| spread(path)).collect();
    rules.add_rules(path_beneath_rules(all, access))
}

/// The paths a pattern stands for.
fn spread(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let parts = path.parent().zip(path.file_name().and_then(|name| name.to_str()?.split_once('*')));
    let Some((folder, (begin, end))) = parts else { return vec![path.into()] };
    let fits =
        |name: &str| name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end);
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_name().to_str().is_some_and(fits)).map(|entry| entry.path()).collect()
}

/// A model, and where its folder's links lead.
fn model(model: &str) -> Vec<String> {
    let mut paths = vec![model.to_string()];
    let entries = std::fs::read_dir(model).into_iter().flatten().filter_map(Result::ok);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    paths.extend(links.filter_map(|link| link.path().to_str().map(String::from)));
    paths
}
