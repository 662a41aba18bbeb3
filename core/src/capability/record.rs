//! The record itself: JSON with named leaves.

use super::{Leaf, Support};
use crate::runtime::RuntimeId;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The shape's version, `descriptor_version`.
const VERSION: u32 = 1;

/// One loaded model's record, as its runtime reported it; leaves nobody here knows are kept.
///
/// ```
/// use superfluid_core::capability::{Leaf, Record, Support};
/// let record = Record::primitive("llamacpp", "b11284").yes(Leaf::LogitBias);
/// assert_eq!(record.support(Leaf::LogitBias), Support::Yes);
/// assert_eq!(record.support(Leaf::ImageEncode), Support::No("the llamacpp runtime has no media path"));
/// assert_eq!(record.support(Leaf::LoraLoad), Support::Unknown);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(pub Map<String, Value>);

impl Record {
    /// A record that says nothing but whose it is.
    pub fn new(runtime: &str, version: &str) -> Self {
        let mut record = Self::default();
        record.0.insert("descriptor_version".into(), VERSION.into());
        record.with("runtime", "id", runtime).with("runtime", "version", version)
    }

    /// What holds for every model of a primitive runtime (llamacpp, mlx), before one is loaded.
    pub fn primitive(runtime: &str, version: &str) -> Self {
        let media = format!("the {runtime} runtime has no media path");
        let text_only = format!("the {runtime} runtime serves text generation only");
        Self::new(runtime, version)
            .no(
                Leaf::KvBits,
                format!("the {runtime} runtime keeps its KV type per context and exposes no such knob"),
            )
            .yes(Leaf::CausalGeneration)
            .no(Leaf::Embedding, text_only)
            .no(Leaf::SpeechToText, media.clone())
            .no(Leaf::ImageEncode, media.clone())
            .no(Leaf::AudioEncode, media.clone())
            .no(Leaf::Transcribe, media.clone())
            .no(Leaf::Translate, media)
            .no(Leaf::ParkLossy, format!("the {runtime} runtime exports no lossy encoding"))
            .no(Leaf::BatchInvariant, format!("the {runtime} runtime's rounding depends on the batch"))
    }

    /// What is known of a runtime's models before its worker was started, or is even there.
    pub fn foretold(runtime: RuntimeId) -> Self {
        match runtime {
            // What a bundle supports is known only once it is loaded.
            RuntimeId::Basert => Self::new(runtime.as_str(), ""),
            RuntimeId::Llamacpp | RuntimeId::Mlx | RuntimeId::Mock => Self::primitive(runtime.as_str(), ""),
        }
    }

    /// Says that `leaf` is there.
    #[must_use]
    pub fn yes(self, leaf: Leaf) -> Self {
        let (section, name) = leaf.path();
        self.with(section, name, true)
    }

    /// Says why `leaf` is not there: a sentence without a capital and a period.
    #[must_use]
    pub fn no(self, leaf: Leaf, why: impl Into<String>) -> Self {
        let (section, name) = leaf.path();
        self.with(section, name, why.into())
    }

    /// Sets `section.name` to any JSON value: limits, strategies, versions.
    #[must_use]
    pub fn with(mut self, section: &str, name: &str, value: impl Into<Value>) -> Self {
        let at = self.0.entry(section).or_insert_with(|| Value::Object(Map::new()));
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at[name] = value.into();
        self
    }

    /// Sets a field outside the sections: `architecture`, `backend`.
    #[must_use]
    pub fn top(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// What is at `section.name`.
    pub fn value(&self, section: &str, name: &str) -> Option<&Value> {
        self.0.get(section)?.get(name)
    }

    /// What a leaf says. `false` without a reason is a no; a number or a list with anything in
    /// it is a yes.
    pub fn support(&self, leaf: Leaf) -> Support<'_> {
        let (section, name) = leaf.path();
        match self.value(section, name) {
            None | Some(Value::Null) => Support::Unknown,
            Some(Value::Bool(true)) => Support::Yes,
            Some(Value::String(why)) => Support::No(why),
            Some(Value::Bool(false)) => Support::No("its runtime says so"),
            Some(Value::Array(list)) if list.is_empty() => Support::No("its runtime lists none"),
            Some(Value::Array(_) | Value::Object(_) | Value::Number(_)) => Support::Yes,
        }
    }

    /// Id of the runtime that wrote it; empty where it does not say.
    pub fn runtime(&self) -> &str {
        self.value("runtime", "id").and_then(Value::as_str).unwrap_or_default()
    }

    /// `serving.speculation_strategies`; `None` where it is no list.
    pub fn strategies(&self) -> Option<Vec<&str>> {
        let list = self.value("serving", "speculation_strategies")?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }

    /// A number of the record, such as `sampling.top_logprobs_max` or `limits.max_seq_len`.
    pub fn number(&self, section: &str, name: &str) -> Option<u64> {
        self.value(section, name)?.as_u64()
    }
}
