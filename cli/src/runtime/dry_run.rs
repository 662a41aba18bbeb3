//! `superfluid runtime install --dry-run`: every candidate with its reason, and what would be fetched.

use crate::print::{bytes, plain};
use std::fmt::Write;
use superfluid_core::install::{Planning, Source, Trust};
use superfluid_core::runtime::RuntimeId;

/// The plan in words.
pub(super) fn text(runtime: RuntimeId, planning: &Planning) -> String {
    let mut text = format!("candidates for {runtime}, best first:\n");
    for candidate in &planning.candidates {
        let name = candidate.build.as_deref().unwrap_or(&candidate.backend);
        let verdict = match candidate.plan {
            Some(index) => format!("plan {}", index + 1),
            None => "refused".into(),
        };
        line(&mut text, &format!("  {name:<12} {verdict:<8} {} [{}]", candidate.reason, candidate.source));
    }
    for (index, plan) in planning.plans.iter().enumerate() {
        line(&mut text, &format!("plan {}: {} ({} {})", index + 1, plan.name, plan.version, plan.backend));
        for asset in &plan.assets {
            let size = asset.size.map_or_else(|| "size unknown".into(), bytes);
            let digest = match (&asset.sha256, asset.trust) {
                (Some(sha256), Some(Trust::Recipe)) => format!("sha256 {sha256} (pinned)"),
                (Some(sha256), Some(Trust::User)) => format!("sha256 {sha256} (given)"),
                (Some(sha256), Some(Trust::ReleasePage)) => {
                    format!("sha256 {sha256} (the release page's word)")
                }
                (Some(sha256), None) => format!("sha256 {sha256}"),
                (None, _) => "no sha256: taken as it is".into(),
            };
            let from = match &asset.source {
                Source::Url { url } => url,
                Source::File { path } => path,
            };
            line(&mut text, &format!("  {}  {size}  {digest}", asset.name));
            line(&mut text, &format!("    from {from}"));
        }
        if let Some(packages) = &plan.packages {
            let (count, size) = (packages.wheels.len(), bytes(packages.size()));
            let from = packages.index.words();
            line(
                &mut text,
                &format!("  {count} packages, {size}, which pip takes from {from} by these digests alone:"),
            );
            for wheel in &packages.wheels {
                line(
                    &mut text,
                    &format!("  {}  {}  sha256 {} (pinned)", wheel.file, bytes(wheel.size), wheel.sha256),
                );
            }
        }
    }
    if planning.plans.len() > 1 {
        text.push_str("a later plan is tried only where the one before finds no device of its backend\n");
    }
    text.push_str("nothing was fetched\n");
    text
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", plain(line));
}
