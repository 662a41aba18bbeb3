//! The built-in runtime that serves nothing real: scriptable, exact, for tests.
//!
//! What it does is in a [`Script`], a JSON file whose first bytes are `{"mock":`, given as the model
//! or by `SUPERFLUID_MOCK_SCRIPT`; any other file is a model without a script. Without a matching
//! reply the next token is exact arithmetic over all tokens before it, so two runs that agree on the
//! tokens agree on the text, and a sequence mixed up with another shows at once.

mod attempt;
mod device;
mod faults;
mod script;
mod vocabulary;

pub use device::MockPrimitives;
pub use faults::Faults;
pub use script::{At, Attempt, Deed, Fault, Kind, Piece, Reply, SCRIPT_VARIABLE, Script};
pub use vocabulary::{BOS, EOS, MockVocabulary};

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::capability::{CheckReport, Device, Record};
use superfluid_core::wire::{LoadSpec, PROTOCOL};
use superfluid_worker_kit::{Model, Runtime, VERSION};

/// The runtime `mock`.
#[derive(Debug)]
pub struct MockRuntime {
    /// From the environment, for what happens before a model is named.
    script: Option<Script>,
    faults: Faults,
}

impl MockRuntime {
    /// A runtime with the environment's script, where there is one.
    pub fn from_environment() -> Result<Self, Refusal> {
        let script = script::from_environment()?;
        let faults = Faults::new(script.as_ref().map(|s| s.faults.clone()).unwrap_or_default());
        Ok(Self { script, faults })
    }

    /// A runtime with this script, whatever model it is given.
    pub fn new(script: Script) -> Self {
        let faults = Faults::new(script.faults.clone());
        Self { script: Some(script), faults }
    }

    fn script_of(&mut self, model: &Path) -> Result<Script, Refusal> {
        if let Some(script) = &self.script {
            return Ok(script.clone());
        }
        let script = script::of_model(model)?;
        self.faults = self.faults.with(script.faults.clone());
        Ok(script)
    }
}

/// The worker's `main`. What a script wants at the start happens first.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let started = MockRuntime::from_environment().and_then(|mut runtime| {
        runtime.faults.keep_the_wire()?;
        runtime.faults.meet(At::Start, &[], 0)?;
        Ok(runtime)
    });
    match started {
        Ok(mut runtime) => superfluid_worker_kit::main_with(&mut runtime, args),
        Err(refusal) => {
            eprintln!("superfluid-worker-mock: {refusal}");
            ExitCode::FAILURE
        }
    }
}

impl Runtime for MockRuntime {
    fn id(&self) -> &'static str {
        "mock"
    }

    fn check(&mut self, model: Option<&Path>) -> Result<CheckReport, Refusal> {
        let script = model.map(|model| self.script_of(model)).transpose()?;
        self.faults.meet(At::Check, &[], 0)?;
        let sizing = script.map(|script| {
            let engine = script.engine(&LoadSpec::default());
            json!({ "context": engine.seq_tokens, "lanes": engine.lanes })
        });
        Ok(CheckReport {
            runtime: "mock".into(),
            worker: VERSION.into(),
            protocol: PROTOCOL,
            version: VERSION.into(),
            formats: vec!["mock".into()],
            devices: vec![Device {
                backend: "cpu".into(),
                name: "mock".into(),
                kind: "cpu".into(),
                memory_total: 0,
                memory_free: 0,
            }],
            capabilities: record(),
            sizing: sizing.and_then(|sizing| sizing.as_object().cloned()).unwrap_or_default(),
        })
    }

    fn load(&mut self, spec: &LoadSpec, progress: &mut dyn FnMut(u32) -> bool) -> Result<Model, Refusal> {
        let script = self.script_of(Path::new(&spec.model))?;
        for tenth in 0..=10 {
            if !progress(tenth * 100) {
                return Err(Refusal::new("cancelled", "the load was given up"));
            }
            if tenth < 10 && script.load_ms > 0 {
                std::thread::sleep(Duration::from_millis(script.load_ms) / 10);
            }
        }
        self.faults.meet(At::Load, &[], 0)?;
        let vocabulary = Arc::new(MockVocabulary::new(&script)?);
        let engine = script.engine(spec);
        Ok(Model {
            chat_template: script.chat_template.clone(),
            record: attempt::all(&script.attempts, record()),
            description: format!("mock {VERSION}, {} lanes of {} tokens", engine.lanes, engine.seq_tokens),
            primitives: Box::new(MockPrimitives::new(
                script,
                engine,
                vocabulary.clone(),
                self.faults.clone(),
            )),
            vocabulary,
        })
    }
}

fn record() -> Record {
    let none = "the mock runtime serves text only";
    let record = json!({
        "descriptor_version": 1,
        "runtime": { "id": "mock", "version": VERSION },
        "load": { "kv_bits": "the mock runtime keeps its KV type per context and exposes no such knob" },
        "workload": { "causal_generation": true, "embedding": none, "speech_to_text": none },
        "modalities": { "image_encode": none, "audio_encode": none, "transcribe": none, "translate": none },
        "serving": { "sequences": true, "park_lossy": "the mock runtime exports no lossy encoding",
            "speculation_strategies": [] },
        "adaptation": { "lora_load": none },
        "sampling": { "logit_bias": true, "penalties": true, "top_logprobs_max": 20 },
        "determinism": { "seed_reproducible": true, "batch_invariant": true },
    });
    match record {
        Value::Object(map) => Record(map),
        _ => Record::default(),
    }
}
