//! The words for everything that can go wrong with a worker.

use super::event::{Death, Status};
use super::exit::Exit;
use crate::api::codes;
use crate::refusal::Refusal;
use crate::sched::Class;
use crate::time::Duration;
use crate::wire::PROTOCOL;
use alloc::format;

/// What the worker was doing when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum During {
    Handshake,
    Load,
    Serving,
}

impl During {
    fn words(self) -> &'static str {
        match self {
            Self::Handshake => "before it was up",
            Self::Load => "while loading the model",
            Self::Serving => "while serving",
        }
    }
}

pub(super) fn died(runtime: &str, during: During, exit: Exit) -> Death {
    let message = format!("the {runtime} worker ended {}: {}", during.words(), exit.status);
    let mut refusal = Refusal::new("worker_died", message);
    if let Some(hint) = exit.status.hint() {
        refusal = refusal.hint(hint);
    }
    Death { refusal, stderr: exit.stderr }
}

pub(super) fn protocol(runtime: &str, version: &str, theirs: u32) -> Refusal {
    let message = format!(
        "the {runtime} worker (version {version:?}) speaks protocol {theirs}, this superfluid speaks {PROTOCOL}"
    );
    let refusal = Refusal::new("worker_mismatch", message);
    if theirs < PROTOCOL {
        refusal.hint(format!("run: superfluid runtime repair {runtime}"))
    } else {
        refusal.hint("the worker is newer than this superfluid: update superfluid")
    }
}

pub(super) fn wrong_runtime(expected: &str, theirs: &str) -> Refusal {
    Refusal::new(
        "worker_mismatch",
        format!("the program started as the {expected} worker says it is for {theirs:?}"),
    )
    .hint(format!("check what SUPERFLUID_WORKER_{} names", expected.to_ascii_uppercase()))
}

pub(super) fn silent(runtime: &str, during: During, patience: Duration) -> Refusal {
    let seconds = patience.as_secs();
    let message = match during {
        During::Handshake => format!("the {runtime} worker said nothing for {seconds} s after its start"),
        During::Load => format!("the {runtime} worker made no progress loading the model for {seconds} s"),
        During::Serving => format!("the {runtime} worker has not answered for {seconds} s"),
    };
    Refusal::new("worker_silent", message)
}

pub(super) fn junk(runtime: &str, detail: &str) -> Refusal {
    Refusal::new(
        "worker_protocol",
        format!("the {runtime} worker sent something that can't be understood: {detail}"),
    )
    .hint(format!("run: superfluid runtime repair {runtime}"))
}

/// What a client learns whose job is not given to a successor: it was there when two workers in a
/// row ended, the second of `why`, or there will be no successor.
pub(super) fn job_lost(runtime: &str, restarts: bool, why: &Refusal) -> Refusal {
    let why = &why.message;
    if restarts {
        let message =
            format!("the {runtime} worker died twice in a row while this request was running; lately: {why}");
        Refusal::new(codes::WORKER_FAILED, message)
            .hint("the request may be the cause, so it is not tried a third time")
    } else {
        let message = format!("the {runtime} worker died while this request was running: {why}");
        Refusal::new(codes::WORKER_FAILED, message)
    }
}

/// What a client learns while the worker's runtime is not there yet. Code `model_loading`.
pub fn installing(runtime: &str) -> Refusal {
    Refusal::new(codes::MODEL_LOADING, format!("the {runtime} runtime is being installed"))
        .hint("GET /health answers 200 when the model is ready")
}

/// What a client learns that asks for a worker that is over, by failure or as asked. Codes
/// `model_failed` and `shutting_down`.
pub fn over(status: &Status) -> Refusal {
    match status {
        Status::Failed => Refusal::new(codes::MODEL_FAILED, "the model's worker failed and is not restarted"),
        _ => draining(),
    }
}

pub(super) fn loading() -> Refusal {
    Refusal::new(codes::MODEL_LOADING, "the model is still loading")
        .hint("GET /health answers 200 when it is ready")
}

pub(super) fn draining() -> Refusal {
    Refusal::new(codes::SHUTTING_DOWN, "the server is shutting down and takes no new requests")
}

pub(super) fn cut() -> Refusal {
    Refusal::new(codes::SHUTTING_DOWN, "the server shut down before this request was finished")
}

pub(super) fn gone(runtime: &str, why: &Refusal) -> Refusal {
    let message = format!("the {runtime} worker failed and is not restarted: {}", why.message);
    Refusal::new(codes::MODEL_FAILED, message)
}

/// What a client learns whose request waited for a successor that can't load the model.
pub(super) fn not_loadable(runtime: &str, why: &Refusal) -> Refusal {
    let message = format!("the {runtime} worker died and the model can't be loaded again: {}", why.message);
    Refusal::new(codes::MODEL_UNAVAILABLE, message)
}

pub(super) fn late(runs: bool) -> Refusal {
    let message = if runs {
        "the request's deadline passed before it was finished"
    } else {
        "the request's deadline passed while it waited"
    };
    Refusal::new(codes::DEADLINE_EXCEEDED, message)
        .hint("x-superfluid-deadline-ms says how long a request may take")
}

pub(super) fn full(jobs: usize, class: Class) -> Refusal {
    let class = class.as_str();
    Refusal::new(
        codes::OVERLOADED,
        format!("{jobs} {class} requests are waiting or running, the most this server takes"),
    )
    .hint("send the request again later")
}
