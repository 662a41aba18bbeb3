//! Loading a model: what is refused, how large its context becomes, what it is then said to do.

use crate::ffi::{Context, ContextSpec, Decoded, Library, LlamaVocabulary, LoadMode, LoadedModel, Row};
use crate::host;
use crate::inspect;
use crate::primitives::LlamaPrimitives;
use crate::record::{Known, record};
use crate::sizing::{self, Room, Shape, Size};
use std::path::Path;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::sched::{Copying, Cut, Engine};
use superfluid_core::wire::LoadSpec;
use superfluid_worker_kit::{Device, Model, Vocabulary};

/// Tokens one pass carries, at most; llama.cpp computes them in micro-batches of 512.
const BATCH: u32 = 2048;
/// Bytes of one key or value: llama.cpp's F16 default.
const KV_VALUE: u64 = 2;

/// The library's devices, with what the host says of the processor's memory: llama.cpp calls all of
/// it free.
pub(crate) fn devices(library: &Library) -> Vec<Device> {
    let mut devices = library.devices();
    if let Some(available) = host::memory_available() {
        for device in devices.iter_mut().filter(|device| device.backend == "cpu") {
            device.memory_free = available.min(device.memory_total);
        }
    }
    // A helper like BLAS computes in the processor's memory; the model is not put on it.
    devices.sort_by_key(|device| device.kind == "accel");
    devices
}

pub(crate) fn shape(model: &LoadedModel) -> Shape {
    let architecture = model.metadata("general.architecture").unwrap_or_default();
    let width = |which: &str| {
        let key = format!("{architecture}.attention.{which}_length");
        model
            .metadata(&key)
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(u64::from(model.head_width()))
    };
    let heads = u64::from(model.layers()) * u64::from(model.kv_heads());
    Shape {
        weights: model.bytes(),
        kv_token: heads.saturating_mul(width("key").saturating_add(width("value"))).saturating_mul(KV_VALUE),
        trained: model.trained_window(),
        shared: model.is_recurrent() || model.is_hybrid() || model.sliding_window() > 0,
    }
}

/// Refuses what can't generate text token by token.
pub(crate) fn refuse_unservable(model: &LoadedModel, path: &Path) -> Result<(), Refusal> {
    let refuse = |what: &str| {
        Err(Refusal::new(
            "unsupported_runtime",
            format!("runtime llamacpp cannot serve {}: {what}", path.display()),
        )
        .hint("pass a model that generates text"))
    };
    if model.bytes() == 0 {
        return refuse("it holds a vocabulary and no weights");
    }
    if model.is_diffusion() {
        return refuse("it makes text by diffusion, not token by token");
    }
    if model.has_encoder() {
        return refuse("it reads its input through an encoder (a translation or embedding model)");
    }
    if !model.has_decoder() {
        return refuse("it has no decoder (an embedding model)");
    }
    Ok(())
}

pub(crate) fn load(
    library: &'static Library,
    spec: &LoadSpec,
    progress: &mut dyn FnMut(u32) -> bool,
) -> Result<Model, Refusal> {
    let path = Path::new(&spec.model);
    inspect::inspect(path)?;
    let before = devices(library);
    let mut last = None;
    let mut report = |share: f32| {
        // Thousandths in whole numbers; a share outside 0..=1 or not a number counts as its bound.
        let permille = (share.clamp(0.0, 1.0) * 1000.0) as u32;
        last.replace(permille) == Some(permille) || progress(permille)
    };
    let model = Arc::new(LoadedModel::load(library, path, LoadMode::Serve, &mut report)?);
    refuse_unservable(&model, path)?;
    let vocabulary = LlamaVocabulary::of(&model).ok_or_else(|| {
        Refusal::new(
            "unsupported_runtime",
            format!("runtime llamacpp cannot serve {}: it has no vocabulary", path.display()),
        )
    })?;
    let shape = shape(&model);
    let size = sizing::size(&shape, &Room::of(&before), spec.max_batch, spec.max_context)?;
    let (mut context, size) = make_context(library, &model, vocabulary.size(), &shape, size)?;
    let fixed = if shape.shared { fixed_state(&mut context, &shape) } else { 0 };
    let free = host::memory_available().unwrap_or_else(|| Room::of(&devices(library)).free);

    let architecture = model.metadata("general.architecture").unwrap_or_default();
    let best = before.first();
    let backend = best.map_or("cpu", |device| device.backend.as_str());
    let known = Known { architecture: &architecture, backend, head_only: shape.shared, size };
    let engine = Engine {
        lanes: size.lanes,
        seqs: context.seqs(),
        seq_tokens: size.window.min(context.seq_tokens()),
        pool_tokens: context.cells(),
        step_tokens: context.batch_tokens(),
        cut: if shape.shared { Cut::HeadOnly } else { Cut::Anywhere },
        copying: if shape.shared { Copying::Shares } else { Copying::Duplicates },
        // With a buffer for each sequence llama.cpp computes as many tokens of every sequence in
        // one go as the shortest has: one decoding row beside a prompt makes two goes of it, and
        // the row waits for both. On a shared pool all rows are computed together.
        mixes: shape.shared,
        neighbours: !shape.shared,
        micro_batch: context.micro_batch(),
        keeping: sizing::keeping(&shape, &size, fixed, free),
    };
    let device = best.map_or("", |device| device.name.as_str());
    Ok(Model {
        record: record(&library.version(), Some(&known)),
        chat_template: model.chat_template(),
        description: format!(
            "llama.cpp {}, {}, {backend} ({device}), {} threads",
            library.version(),
            model.description(),
            host::threads()
        ),
        vocabulary: Arc::new(vocabulary),
        primitives: Box::new(LlamaPrimitives::new(context, engine)),
    })
}

/// Bytes of a state that its tokens do not account for: a recurrent model's. Found by a pass of one
/// token; 0 where that does not work.
fn fixed_state(context: &mut Context, shape: &Shape) -> u64 {
    let rows = [Row { seq: 0, start: 0, tokens: &[0], output: false }];
    let state = match context.decode(&rows, None) {
        Decoded::Done => context.export(0).map_or(0, |state| state.len() as u64),
        _ => 0,
    };
    context.clear(0);
    state.saturating_sub(shape.kv_token)
}

/// Makes the context; where it left the device short of its reserve, makes it again with fewer cells.
fn make_context(
    library: &'static Library,
    model: &Arc<LoadedModel>,
    vocab: u32,
    shape: &Shape,
    mut size: Size,
) -> Result<(Context, Size), Refusal> {
    let reserve = Room::of(&devices(library)).reserve();
    let paced = devices(library).first().is_none_or(|device| device.backend == "cpu");
    loop {
        let spec = ContextSpec {
            cells: size.cells,
            seqs: size.seqs,
            unified: shape.shared,
            batch: BATCH.min(size.cells),
            threads: host::threads(),
            paced,
            kept: paced,
        };
        let context = Context::new(model, vocab, spec)?;
        let room = Room::of(&devices(library));
        let short = if room.total == 0 { 0 } else { reserve.saturating_sub(room.free) };
        let fewer = u32::try_from(short / shape.kv_token.max(1)).unwrap_or(u32::MAX);
        if fewer == 0 {
            return Ok((context, size));
        }
        match sizing::cut(shape, size, size.cells.saturating_sub(fewer)) {
            Some(smaller) if smaller.cells < size.cells => {
                eprintln!(
                    "superfluid-worker-llamacpp: {} tokens of context left the device {} MiB short; making it again with {}",
                    size.cells,
                    short >> 20,
                    smaller.cells
                );
                size = smaller;
            }
            // Nothing smaller is left: serve with what there is.
            _ => return Ok((context, size)),
        }
    }
}
