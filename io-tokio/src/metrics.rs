//! What is counted and measured of requests, in Prometheus' terms.
//!
//! Names, types and labels are the documented ones of `docs/metrics.md`; the library formats them.

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use superfluid_core::sched::Class;

/// Seconds to a first token: from a prompt that was in the cache to one that waited for a load.
const FIRST: [f64; 14] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0];
/// Seconds between two tokens.
const GAP: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Of {
    pub(crate) model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfClass {
    pub(crate) model: String,
    pub(crate) class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    model: String,
    class: &'static str,
    finish: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    model: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfWork {
    pub(crate) model: String,
    pub(crate) work: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfTier {
    pub(crate) model: String,
    pub(crate) tier: &'static str,
}

/// Numbers at one moment, encoded with what was counted.
pub(crate) type Gauges<S> = Family<S, Gauge<f64, AtomicU64>>;
/// Counts that somebody else keeps.
pub(crate) type Counts<S> = Family<S, Counter>;

type Histograms<S> = Family<S, Histogram, fn() -> Histogram>;

/// The unit of what counts tokens.
pub(crate) fn tokens() -> Unit {
    Unit::Other("tokens".into())
}

/// See the module. Clones share it.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    registry: Registry,
    ended: Family<Ended, Counter>,
    refused: Family<Refused, Counter>,
    decoded: Counts<Of>,
    first: Histograms<OfClass>,
    gap: Histograms<Of>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("superfluid");
        let ended = Family::default();
        let refused = Family::default();
        let decoded = Counts::default();
        let first: Histograms<OfClass> = Family::new_with_constructor(|| Histogram::new(FIRST));
        let gap: Histograms<Of> = Family::new_with_constructor(|| Histogram::new(GAP));
        registry.register("requests", "Requests that ended, by how", ended.clone());
        registry.register("refusals", "Requests that were refused or failed, by code", refused.clone());
        registry.register_with_unit("decode", "Tokens that were generated", tokens(), decoded.clone());
        let words = "From a request to its first token, every wait included";
        registry.register_with_unit("time_to_first_token", words, Unit::Seconds, first.clone());
        let words = "From a token to the next of the same request";
        registry.register_with_unit("inter_token", words, Unit::Seconds, gap.clone());
        Self(Arc::new(Counted { registry, ended, refused, decoded, first, gap }))
    }
}

impl Metrics {
    /// A request ended: `stop`, `length`, `error`, or `gone` where its client went away.
    pub(crate) fn ended(&self, model: &str, class: Class, finish: &'static str) {
        self.0.ended.get_or_create(&Ended { model: model.into(), class: class.as_str(), finish }).inc();
    }

    /// A request's first token came, so long after the request.
    pub(crate) fn began(&self, model: &str, class: Class, first: Duration) {
        let of = OfClass { model: model.into(), class: class.as_str() };
        self.0.first.get_or_create(&of).observe(first.as_secs_f64());
    }

    /// So many tokens were generated.
    pub(crate) fn decoded(&self, model: &str, tokens: u32) {
        self.0.decoded.get_or_create(&Of { model: model.into() }).inc_by(tokens.into());
    }

    /// A request was refused, or failed; without a model where it names none that is served.
    pub(crate) fn refused(&self, model: &str, code: &str) {
        self.0.refused.get_or_create(&Refused { model: model.into(), code: code.into() }).inc();
    }

    /// The times between a model's tokens.
    pub(crate) fn gaps(&self, model: &str) -> Histogram {
        self.0.gap.get_or_create_owned(&Of { model: model.into() })
    }

    /// Everything, with what `add` registers: in the OpenMetrics form, or in Prometheus' older one,
    /// which names a counter with its `_total` and knows no units.
    pub(crate) fn encode(
        &self,
        openmetrics: bool,
        add: impl FnOnce(&mut Registry),
    ) -> Result<String, std::fmt::Error> {
        let mut now = Registry::with_prefix("superfluid");
        add(&mut now);
        let mut body = String::new();
        if openmetrics {
            text::encode_registry(&mut body, &now)?;
            text::encode(&mut body, &self.0.registry)?;
        } else {
            prometheus_text::encode(&mut body, &now)?;
            prometheus_text::encode(&mut body, &self.0.registry)?;
        }
        Ok(body)
    }
}
