//! What the hub's refusals mean, and what a fetch's answer brings.

use super::{Answer, Settings};
use crate::install::machine::{Body, Fault, FaultKind, Resume, judge_response};
use crate::pull::ModelId;
use crate::refusal::Refusal;
use alloc::format;

/// A status that is no success, in words and with what to do.
pub fn refused(id: &ModelId, settings: &Settings, what: &str, answer: &Answer) -> Refusal {
    let repo = id.repo();
    let (endpoint, host) = (settings.endpoint.as_str(), settings.endpoint.host());
    let code = answer.code.as_deref().unwrap_or_default();
    let terms = || format!("read and accept its terms at {endpoint}/{repo}");
    match (answer.status, code, settings.token) {
        (401 | 403, "GatedRepo", false) => {
            Refusal::new("gated_model", format!("{repo} is given out only to those who accept its terms"))
                .hint(format!("{}, then set HF_TOKEN to a token of that account", terms()))
        }
        (401 | 403, "GatedRepo", true) => {
            let message = format!(
                "{repo} is given out only to those who accept its terms, and the account of this token has not"
            );
            Refusal::new("gated_model", message)
                .hint(terms())
                .hint("a fine-grained token also needs the right to read gated repositories")
        }
        (401, _, true) => Refusal::new("bad_token", format!("{host} does not accept the token"))
            .hint("check HF_TOKEN, or unset it for a public model"),
        (401, _, false) | (404, "RepoNotFound", _) => {
            Refusal::new("no_such_model", format!("{host} has no model {repo}, or it is private"))
                .hint("check the id")
                .hint("for a private model set HF_TOKEN to a token that may read it")
        }
        (403, _, _) => {
            Refusal::new("forbidden", format!("{host} does not give out {what}")).hint(if settings.token {
                "check what the token in HF_TOKEN may read"
            } else {
                "set HF_TOKEN to a token that may read it"
            })
        }
        (404, "RevisionNotFound", _) => {
            Refusal::new("no_such_revision", format!("{repo} has no such revision"))
                .hint(format!("its branches and tags are at {endpoint}/{repo}/tree/main"))
        }
        (404, "EntryNotFound", _) => Refusal::new("no_such_file", format!("{host} has no {what}"))
            .hint("pull again; it was changed meanwhile"),
        (404, _, _) => Refusal::new("no_such_model", format!("{host} has no {what}")).hint("check the id"),
        (429, _, token) => {
            let refusal = Refusal::new(
                "rate_limited",
                format!("{host} answers too many requests from here (status 429)"),
            )
            .hint("wait a while");
            if token { refusal } else { refusal.hint("set HF_TOKEN: an account may ask more often") }
        }
        (status, _, _) => {
            Refusal::new("http_status", format!("{host} answered with status {status} for {what}"))
                .hint("check HF_ENDPOINT, or try again later")
        }
    }
}

/// A status as a fault, for those that may pass.
pub(super) fn as_fault(answer: &Answer) -> Fault {
    let status = answer.status;
    let mut fault =
        Fault::new(FaultKind::Status(status), format!("the server answered with status {status}"));
    fault.retry_after_ms = answer.retry_after_s.map(|seconds| seconds.saturating_mul(1000));
    fault
}

/// Judges the answer to a fetch: what its body is, or `None` where the status is for
/// [`refused`] and the machine to judge.
pub fn judge_fetch(
    status: u16,
    content_range: Option<&str>,
    resume: Option<&Resume>,
    size: u64,
) -> Result<Option<Body>, Fault> {
    match status {
        200 | 206 => judge_response(status, content_range, resume, Some(size)).map(Some),
        _ => Ok(None),
    }
}
