//! `/metrics`.

use super::State;
use super::models::views;
use super::reply::{Payload, Reply, refusal, with};
use crate::metrics::{Counts, Gauges, Of, OfClass, OfTier, OfWork, tokens};
use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Unit;
use superfluid_core::Refusal;
use superfluid_core::api;
use superfluid_core::fleet::Standing;
use superfluid_core::sched::Class;

/// The form for who asks for it; others get the older one, which every scraper reads.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where a reused token's state was.
const TIERS: [&str; 3] = ["device", "host", "disk"];
/// What a prompt token was run for.
const WORK: [&str; 3] = ["first", "again", "lost"];

pub(super) fn answer(state: &State, headers: &HeaderMap) -> Reply {
    let openmetrics = api::wants_openmetrics(headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes));
    let body = state.fleet.metrics().encode(openmetrics, |registry| {
        let (waiting, running, usage) = (Gauges::<Of>::default(), Gauges::default(), Gauges::default());
        let (queued, loaded) = (Gauges::<OfClass>::default(), Gauges::<Of>::default());
        let (lanes, pool, paused) = (Gauges::<Of>::default(), Gauges::default(), Gauges::default());
        let (held, kept, prefilled) =
            (Gauges::<Of>::default(), Gauges::default(), Counts::<OfWork>::default());
        let (restarts, continued) = (Counts::<Of>::default(), Counts::<Of>::default());
        let (preempted, cached) = (Counts::<Of>::default(), Counts::<OfTier>::default());
        for (model, view, worker) in views(state) {
            let of = Of { model: model.id.clone() };
            let stats = worker.as_ref().map(|worker| worker.stats).unwrap_or_default();
            let up = view.standing == Standing::Loaded;
            loaded.get_or_create(&of).set(f64::from(u8::from(up)));
            // Whoever is known to the daemon and has no lane waits: for a load, a successor, a lane.
            let jobs = worker.as_ref().map_or(0, |worker| worker.jobs) + view.waiting;
            let without_lane = jobs.saturating_sub(stats.running as usize);
            waiting.get_or_create(&of).set(without_lane as f64);
            running.get_or_create(&of).set(stats.running.into());
            paused.get_or_create(&of).set(stats.paused.into());
            for (class, count) in Class::ALL.into_iter().zip(stats.queued) {
                let of = OfClass { model: model.id.clone(), class: class.as_str() };
                queued.get_or_create(&of).set(count.into());
            }
            let engine =
                worker.as_ref().and_then(|worker| worker.loaded.as_ref()).map(|loaded| &loaded.engine);
            if let Some(engine) = engine {
                let share = f64::from(stats.held) / f64::from(engine.pool_tokens.max(1));
                usage.get_or_create(&of).set(if up { share.min(1.0) } else { 0.0 });
                lanes.get_or_create(&of).set(engine.lanes.into());
                held.get_or_create(&of).set(stats.held.into());
                kept.get_or_create(&of).set(stats.cells.saturating_sub(stats.held).into());
                pool.get_or_create(&of).set(engine.pool_tokens.into());
            }
            let totals = worker.as_ref().map(|worker| worker.totals).unwrap_or_default() + view.past;
            restarts.get_or_create(&of).inc_by(totals.restarts);
            continued.get_or_create(&of).inc_by(totals.continued);
            preempted.get_or_create(&of).inc_by(totals.preempted);
            for (tier, count) in TIERS.into_iter().zip(totals.reused) {
                cached.get_or_create(&OfTier { model: model.id.clone(), tier }).inc_by(count);
            }
            for (work, count) in WORK.into_iter().zip(totals.prefilled) {
                prefilled.get_or_create(&OfWork { model: model.id.clone(), work }).inc_by(count);
            }
        }
        registry.register("requests_waiting", "Requests without a lane", waiting);
        registry.register("requests_running", "Requests with a lane", running);
        registry.register("requests_paused", "Requests whose client does not read", paused);
        let ratio = Unit::Other("ratio".into());
        let words = "Share of the KV cells that running requests hold";
        registry.register_with_unit("kv_cache_usage", words, ratio, usage);
        registry.register("queue_requests", "Requests that wait in the worker for a lane", queued);
        registry.register("model_loaded", "Whether the model is loaded", loaded);
        registry.register("lanes", "Requests that can run at once", lanes);
        registry.register("kv_cells_held", "KV cells that running requests hold", held);
        registry.register("kv_cells_kept", "KV cells of kept prefixes, given up for requests", kept);
        registry.register("kv_cells", "KV cells", pool);
        registry.register("worker_restarts", "Worker processes started after a crash", restarts);
        registry.register("continuations", "Requests given to a successor of their worker", continued);
        registry.register("preemptions", "Lanes given to more urgent requests", preempted);
        registry.register_with_unit("prefill", "Prompt tokens that were run", tokens(), prefilled);
        registry.register_with_unit("cached", "Prompt tokens whose state was reused", tokens(), cached);
    });
    let form = if openmetrics { OPENMETRICS } else { prometheus_text::CONTENT_TYPE };
    match body {
        Ok(body) => {
            with(StatusCode::OK, HeaderValue::from_static(form), None, Payload::Whole(Some(body.into())))
        }
        Err(error) => refusal(&Refusal::new("internal_error", format!("no metrics: {error}"))),
    }
}
