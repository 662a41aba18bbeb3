//! `/health`: 200 when requests are served, 503 and why when not. `/ready`: 200 when requests may be
//! sent, also while a worker is restarted, which loses none.

use super::State;
use super::models::views;
use super::reply::{Reply, json};
use crate::fleet::ModelView;
use crate::worker::View;
use hyper::StatusCode;
use serde_json::{Value, json};
use superfluid_core::api::ErrorReply;
use superfluid_core::fleet::Standing;
use superfluid_core::supervise::Status;

pub(super) fn answer(state: &State) -> Reply {
    let serves = state.fleet.overview().serves;
    let views = views(state);
    let draining = ("draining", Some("the server is shutting down".to_string()));
    let told: Vec<_> = views.iter().map(|(_, view, worker)| told(view, worker.as_ref())).collect();
    // A model that nobody asked for at the start says nothing about the server.
    let asked_for = views.iter().zip(&told).filter(|((model, ..), _)| model.at_start);
    let trouble = asked_for.filter(|(_, (_, reason))| reason.is_some()).map(|(_, told)| told.clone());
    let (word, reason) = match trouble.into_iter().next() {
        _ if !serves => draining,
        Some(trouble) => trouble,
        None => ("ready", None),
    };
    let sum = |of: fn(&View) -> u64| views.iter().filter_map(|(.., view)| view.as_ref()).map(of).sum::<u64>();
    let waiting: u64 = views.iter().map(|(_, view, _)| view.waiting as u64).sum();
    let mut body = json!({
        "status": word,
        "requests": waiting + sum(|view| view.jobs as u64),
        "running": sum(|view| view.stats.running.into()),
        "waiting": waiting + sum(|view| view.stats.waiting.into()),
        "paused": sum(|view| view.stats.paused.into()),
        "restarts": sum(|view| view.lives.saturating_sub(1)),
    });
    if let [(model, _, worker)] = &views[..] {
        body["model"] = model.id.as_str().into();
        progress(&mut body, worker.as_ref());
    } else {
        let each = views.iter().zip(&told).map(|((model, view, worker), (word, reason))| {
            let mut one = json!({ "id": model.id, "status": word, "waiting": view.waiting });
            if let Some(worker) = worker {
                one["requests"] = (view.waiting + worker.jobs).into();
                one["running"] = worker.stats.running.into();
                one["waiting"] = (view.waiting as u64 + u64::from(worker.stats.waiting)).into();
                one["restarts"] = worker.lives.saturating_sub(1).into();
            }
            if let Some(reason) = reason {
                one["reason"] = reason.as_str().into();
            }
            progress(&mut one, worker.as_ref());
            one
        });
        body["models"] = Value::Array(each.collect());
    }
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    json(status, body.to_string().into_bytes())
}

pub(super) fn ready(state: &State) -> Reply {
    let overview = state.fleet.overview();
    let (status, word) = match (overview.serves, overview.ready) {
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        (true, true) => (StatusCode::OK, "ready"),
        (true, false) => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    json(status, json!({ "status": word }).to_string().into_bytes())
}

/// A word for where a model stands, and the reason where it does not serve.
fn told(view: &ModelView, worker: Option<&View>) -> (&'static str, Option<String>) {
    let status = worker.map(|worker| &worker.status);
    let reason = |word, reason: &str| (word, Some(reason.to_string()));
    match (view.standing, status) {
        (Standing::Failed, _) => {
            let why = view.failure.as_ref().map(|refusal| ErrorReply::new(refusal).message);
            ("failed", Some(why.unwrap_or_else(|| "the worker failed".into())))
        }
        (Standing::Loading, Some(Status::Installing)) => {
            reason("installing", "the runtime is being installed")
        }
        (Standing::Loading, Some(Status::Loading { .. })) => reason("loading", "the model is loading"),
        (Standing::Loading, _) => reason("starting", "the worker is starting"),
        (Standing::Loaded, Some(Status::Restarting)) => {
            reason("restarting", "the worker died and is being restarted; requests wait for it")
        }
        (Standing::Loaded, Some(Status::Silent)) => {
            reason("silent", "the worker does not answer; it is ended if it stays so")
        }
        (Standing::Loaded, _) => ("ready", None),
        (standing, _) => (standing.word(), None),
    }
}

fn progress(body: &mut Value, worker: Option<&View>) {
    if let Some(Status::Loading { permille }) = worker.map(|worker| &worker.status) {
        body["progress"] = (f64::from(*permille) / 1000.0).into();
    }
}
