//! What the staged worker's check says about a plan.

use super::effect::{Fault, FaultKind, Run};
use super::failure;
use crate::capability::CheckReport;
use crate::install::Plan;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Whether a plan stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A device of the planned backend is listed.
    Stands(CheckReport),
    /// The worker runs and lists none: the next plan may be tried.
    NoDevice(String),
    /// The worker does not run here, or does not make sense: no other plan would.
    Broken(Refusal),
}

/// Judges a run of the staged worker's `check`.
pub fn judge_check(run: &Run, plan: &Plan) -> Verdict {
    match read_report(run, &format!("the {} worker of {}", plan.runtime, plan.name)) {
        Ok(report) => judge_report(report, plan),
        Err(refusal) => Verdict::Broken(refusal),
    }
}

/// What a worker's `check` printed. `who` is the worker, as a message's subject.
///
/// # Errors
/// `worker_check_failed`, with the worker's own last words.
pub fn read_report(run: &Run, who: &str) -> Result<CheckReport, Refusal> {
    let broken = |what: String, stderr: &str| {
        let message = format!("{who} {what}{}", failure::said(stderr));
        let mut refusal = Refusal::new("worker_check_failed", message);
        refusal.hints = failure::advised(stderr);
        if stderr.contains("GLIBC_") || stderr.contains("GLIBCXX_") {
            refusal = refusal.hint("this build needs a newer C library than this system has; a newer system, or a build made for this one (--from), is needed");
        }
        Err(refusal)
    };
    match run {
        Run::NotStarted(fault) => Err(not_started("worker_check_failed", fault)),
        Run::TimedOut { stderr } => broken("did not end its check in time and was stopped".into(), stderr),
        Run::Exited { code: Some(0), stdout, stderr, .. } => serde_json::from_str(stdout.trim())
            .or_else(|error| broken(format!("printed a check report that cannot be read ({error})"), stderr)),
        Run::Exited { code: Some(code), stderr, .. } => {
            broken(format!("failed its check with exit status {code}"), stderr)
        }
        Run::Exited { signal: Some(signal), stderr, .. } => {
            broken(format!("was ended by {}", failure::signal(*signal)), stderr)
        }
        Run::Exited { stderr, .. } => broken("ended in an unknown way".into(), stderr),
    }
}

/// A staged program could not be started.
pub(super) fn not_started(code: &str, fault: &Fault) -> Refusal {
    match fault.kind {
        FaultKind::NotFound => Refusal::new(
            code,
            format!("{}: the program loader or interpreter it names is not on this system", fault.message),
        )
        .hint("this build was made for another C library (glibc or musl) or another system"),
        _ => failure::explain(fault),
    }
}

fn judge_report(report: CheckReport, plan: &Plan) -> Verdict {
    if report.runtime != plan.runtime {
        return Verdict::Broken(Refusal::new(
            "worker_check_failed",
            format!("the worker of {} says it is the {:?} runtime's", plan.name, report.runtime),
        ));
    }
    if report.devices.iter().any(|device| device.carries(&plan.backend)) {
        return Verdict::Stands(report);
    }
    let seen: Vec<String> = report
        .devices
        .iter()
        .map(|device| format!("{} ({} {})", device.name, device.backend, device.kind))
        .collect();
    let seen = if seen.is_empty() { "none at all".into() } else { seen.join(", ") };
    Verdict::NoDevice(format!("its worker finds no {} device; it lists {seen}", plan.backend))
}
