//! A context: the sequences' state on the device, and the pass that feeds them.
#![expect(unsafe_code, reason = "calls llama.cpp")]

use super::library::Library;
use super::log;
use super::model::LoadedModel;
use super::pool::Pool;
use super::types::{Batch, ChainParams, ContextParams, RawContext, RawMemory, RawSampler};
use crate::host;
use crate::pace::Pace;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::cell::Cell;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use superfluid_core::Refusal;
use superfluid_core::sched::Token;

/// How a context is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSpec {
    /// Tokens of state in all.
    pub cells: u32,
    /// Sequences, at most 256.
    pub seqs: u32,
    /// One pool for all sequences, instead of a buffer of `cells / seqs` for each.
    pub unified: bool,
    /// Tokens a pass can carry.
    pub batch: u32,
    /// Threads that compute where the processor does.
    pub threads: u32,
    /// Whether fewer threads are used while the processor is shared with others; for models that
    /// run on it.
    pub paced: bool,
    /// Whether the threads stay between passes; for models that run on the processor.
    pub kept: bool,
}

/// Consecutive tokens of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The sequence.
    pub seq: u32,
    /// Position of the first token; the sequence holds this many.
    pub start: u32,
    /// At least one.
    pub tokens: &'a [Token],
    /// Whether what follows the last token is wanted.
    pub output: bool,
}

/// What became of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Every row was fed.
    Done,
    /// No room; nothing was fed.
    NoRoom,
    /// Given up; some rows may have been fed.
    Aborted,
    /// The batch itself was wrong; nothing was fed.
    Invalid(String),
    /// The device failed; some rows may have been fed.
    Failed(String),
}

/// Whom to ask whether a pass shall be given up; lives at one address as long as its context.
struct AbortSlot {
    /// The thread that decodes; ggml asks on it, and on any other the answer is no.
    thread: Cell<Option<ThreadId>>,
    /// Points to a `&dyn Fn() -> bool` during a pass that can be given up, else null.
    ask: Cell<*const c_void>,
}

/// llama.cpp's `abort_callback`.
///
/// # Safety
/// `user` points to an `AbortSlot` that is alive.
unsafe extern "C" fn on_abort(user: *mut c_void) -> bool {
    // SAFETY: the slot is alive as long as its context, and only a context that decodes asks.
    // ggml asks on the thread that called `llama_decode`, which is the one that wrote the cells
    // and is waiting inside that call.
    let slot = unsafe { &*user.cast::<AbortSlot>() };
    if slot.thread.get() != Some(std::thread::current().id()) {
        return false;
    }
    let ask = slot.ask.get().cast::<&dyn Fn() -> bool>();
    // SAFETY: null, or set by the `decode` that is on this thread's stack now, from a reference that
    // outlives it.
    unsafe { ask.as_ref() }.is_some_and(|ask| ask())
}

/// Sequences on the device. Used by one thread at a time.
pub struct Context {
    model: Arc<LoadedModel>,
    raw: NonNull<RawContext>,
    memory: NonNull<RawMemory>,
    greedy: NonNull<RawSampler>,
    abort: Box<AbortSlot>,
    vocab: u32,
    seqs: u32,
    micro_batch: u32,
    batch: BatchMemory,
    pace: Option<Pace>,
    /// For each row of the last pass, where its output is in the batch.
    outputs: Vec<Option<i32>>,
    /// Row indices by sequence, kept for its memory.
    order: Vec<usize>,
    kept: bool,
    /// The threads that compute, where they are kept.
    pool: Option<Pool>,
    /// Those that did before; llama.cpp may use them once more, at the start of the next pass.
    former: Vec<Pool>,
    /// Whether each sequence has a buffer of its own.
    apart: bool,
    /// Copies between buffers, which llama.cpp makes with the next pass.
    pending: Vec<(u32, u32)>,
}

/// The arrays a `llama_batch` points to, each as long as the largest pass.
struct BatchMemory {
    token: Vec<i32>,
    pos: Vec<i32>,
    count: Vec<i32>,
    seq: Vec<i32>,
    seq_of: Vec<*mut i32>,
    output: Vec<i8>,
    used: usize,
}

impl BatchMemory {
    fn new(size: usize) -> Self {
        let mut seq = vec![0; size];
        let first = seq.as_mut_ptr();
        Self {
            token: vec![0; size],
            pos: vec![0; size],
            count: vec![1; size],
            // The vector is never resized, so its elements stay where they are.
            seq_of: (0..size).map(|at| first.wrapping_add(at)).collect(),
            seq,
            output: vec![0; size],
            used: 0,
        }
    }

    fn push(&mut self, token: i32, pos: i32, seq: i32, output: bool) {
        let at = self.used;
        self.token[at] = token;
        self.pos[at] = pos;
        self.seq[at] = seq;
        self.output[at] = i8::from(output);
        self.used += 1;
    }

    fn raw(&mut self) -> Batch {
        let first = self.seq.as_mut_ptr();
        for (at, seq) in self.seq_of.iter_mut().enumerate().take(self.used) {
            *seq = first.wrapping_add(at);
        }
        Batch {
            n_tokens: i32::try_from(self.used).unwrap_or(i32::MAX),
            token: self.token.as_mut_ptr(),
            embd: core::ptr::null_mut(),
            pos: self.pos.as_mut_ptr(),
            n_seq_id: self.count.as_mut_ptr(),
            seq_id: self.seq_of.as_mut_ptr(),
            logits: self.output.as_mut_ptr(),
        }
    }
}

impl Context {
    /// Makes a context for a model that was loaded with its weights.
    ///
    /// # Errors
    /// `context_not_made` with llama.cpp's own words, most often that memory is short.
    pub fn new(model: &Arc<LoadedModel>, vocab: u32, spec: ContextSpec) -> Result<Self, Refusal> {
        log::take_complaints();
        let symbols = &model.library.symbols;
        let mut params = ContextParams::defaults();
        params.n_ctx = spec.cells;
        params.n_batch = spec.batch;
        params.n_seq_max = spec.seqs;
        // One row a sequence brings something back; saying so keeps the device from setting memory
        // aside for the logits of a whole batch.
        params.n_outputs_max = spec.seqs;
        let threads = i32::try_from(spec.threads).unwrap_or(1).max(1);
        params.n_threads = threads;
        params.n_threads_batch = threads;
        params.kv_unified = u8::from(spec.unified);
        // A sliding window's pool holds the window alone; the state can be used at its head only.
        params.swa_full = 0;
        // SAFETY: the params have the layout and the defaults this library was found to have, with
        // values of documented meaning; the model is alive and outlives the context, which holds it.
        let raw = unsafe { (symbols.llama_init_from_model)(model.raw.as_ptr(), params) };
        let raw = NonNull::new(raw).ok_or_else(|| not_made(spec, &log::take_complaints()))?;
        let abort = Box::new(AbortSlot { thread: Cell::new(None), ask: Cell::new(core::ptr::null()) });
        // SAFETY: the context is alive. The slot stays at its address until the context is freed
        // (`Drop` frees before fields are dropped). A chain owns the sampler added to it.
        let (memory, greedy, batch, seqs) = unsafe {
            let slot = (&raw const *abort).cast_mut().cast();
            (symbols.llama_set_abort_callback)(raw.as_ptr(), Some(on_abort), slot);
            let greedy = (symbols.llama_sampler_chain_init)(ChainParams { no_perf: 1 });
            (symbols.llama_sampler_chain_add)(greedy, (symbols.llama_sampler_init_greedy)());
            (
                (symbols.llama_get_memory)(raw.as_ptr()),
                greedy,
                (symbols.llama_n_batch)(raw.as_ptr()),
                (symbols.llama_n_seq_max)(raw.as_ptr()),
            )
        };
        let (Some(memory), Some(greedy)) = (NonNull::new(memory), NonNull::new(greedy)) else {
            // SAFETY: made above, freed once; a null sampler is ignored.
            unsafe {
                (symbols.llama_sampler_free)(greedy);
                (symbols.llama_free)(raw.as_ptr());
            }
            return Err(Refusal::new(
                "context_not_made",
                "this model keeps no state that could be generated from",
            ));
        };
        let mut context = Self {
            model: Arc::clone(model),
            raw,
            memory,
            greedy,
            abort,
            vocab,
            seqs,
            micro_batch: params.n_ubatch.min(batch),
            batch: BatchMemory::new(batch as usize),
            pace: spec.paced.then(|| Pace::new(spec.threads)),
            outputs: Vec::new(),
            order: Vec::new(),
            kept: spec.kept,
            pool: None,
            former: Vec::new(),
            apart: !spec.unified,
            pending: Vec::new(),
        };
        if spec.kept {
            context.crew(threads);
        }
        Ok(context)
    }

    /// Tokens one sequence can hold; llama.cpp rounds what was asked for up.
    pub fn seq_tokens(&self) -> u32 {
        // SAFETY: the context is alive as long as self.
        unsafe { (self.model.library.symbols.llama_n_ctx_seq)(self.raw.as_ptr()) }
    }

    /// Tokens of state in all.
    pub fn cells(&self) -> u32 {
        // SAFETY: the context is alive as long as self.
        unsafe { (self.model.library.symbols.llama_n_ctx)(self.raw.as_ptr()) }
    }

    /// Tokens that are computed in one go.
    pub fn micro_batch(&self) -> u32 {
        self.micro_batch
    }

    /// Tokens one pass can carry.
    pub fn batch_tokens(&self) -> u32 {
        u32::try_from(self.batch.token.len()).unwrap_or(u32::MAX)
    }

    /// Sequences.
    pub fn seqs(&self) -> u32 {
        self.seqs
    }

    /// Vocabulary entries, hence values in a row of logits.
    pub fn vocab(&self) -> u32 {
        self.vocab
    }

    /// Runs one pass over rows of different sequences. `abort` is asked between the graph's nodes.
    pub fn decode(&mut self, rows: &[Row<'_>], abort: Option<&dyn Fn() -> bool>) -> Decoded {
        if let Err(why) = self.fill(rows) {
            self.outputs.clear();
            return Decoded::Invalid(why);
        }
        log::take_complaints();
        self.abort.thread.set(Some(std::thread::current().id()));
        if let Some(ask) = &abort {
            self.abort.ask.set(core::ptr::from_ref::<&dyn Fn() -> bool>(ask).cast());
        }
        let batch = self.batch.raw();
        let started = (Instant::now(), host::processor_time());
        // SAFETY: the context is alive and used by this thread alone (`&mut self`). The batch's
        // arrays hold at least n_tokens entries, n_tokens is within 1..=n_batch, every seq_id
        // points to one id below n_seq_max, every token is in the vocabulary (`fill`). llama.cpp
        // copies them. `ask` points to `abort`, which outlives the call.
        let status = unsafe { (self.model.library.symbols.llama_decode)(self.raw.as_ptr(), batch) };
        self.abort.ask.set(core::ptr::null());
        if status == 0 {
            self.former.clear();
            self.pending.clear();
        } else {
            self.outputs.clear();
        }
        self.keep_pace(started);
        match status {
            0 => Decoded::Done,
            1 => Decoded::NoRoom,
            2 => Decoded::Aborted,
            -1 => Decoded::Invalid(complaint(status)),
            _ => Decoded::Failed(complaint(status)),
        }
    }

    fn keep_pace(&mut self, (clock, processor): (Instant, Duration)) {
        let Some(pace) = &mut self.pace else { return };
        let used = host::processor_time().saturating_sub(processor);
        if let Some(threads) = pace.after(clock.elapsed(), used) {
            self.crew(i32::try_from(threads).unwrap_or(1));
        }
    }

    /// Computes with so many threads from the next pass on.
    fn crew(&mut self, threads: i32) {
        let pool = if self.kept && threads > 1 { Pool::new(self.model.library, threads) } else { None };
        let raw = pool.as_ref().map_or(core::ptr::null_mut(), Pool::raw);
        let symbols = &self.model.library.symbols;
        // SAFETY: the context is alive and computes nothing: on the processor a pass is over when
        // `llama_decode` returns. The pool stays in `pool` or `former` until the context is freed or
        // has completed a pass with another one; null means threads made for each pass.
        unsafe {
            (symbols.llama_attach_threadpool)(self.raw.as_ptr(), raw, raw);
            (symbols.llama_set_n_threads)(self.raw.as_ptr(), threads, threads);
        }
        self.former.extend(core::mem::replace(&mut self.pool, pool));
    }

    /// Lays the rows out by sequence. With a buffer for each sequence llama.cpp computes
    /// neighbouring sequences in one go only where they come in ascending order.
    fn fill(&mut self, rows: &[Row<'_>]) -> Result<(), String> {
        self.batch.used = 0;
        self.outputs.clear();
        self.outputs.resize(rows.len(), None);
        self.order.clear();
        self.order.extend(0..rows.len());
        self.order.sort_unstable_by_key(|at| rows[*at].seq);
        let total = rows.iter().map(|row| row.tokens.len()).sum::<usize>();
        if total == 0 || total > self.batch.token.len() {
            return Err(format!("a pass of {total} tokens; it takes 1 to {}", self.batch.token.len()));
        }
        if rows.iter().filter(|row| row.output).count() > self.seqs as usize {
            return Err("more outputs than sequences".to_owned());
        }
        for at in self.order.iter().copied() {
            let row = &rows[at];
            let seq = i32::try_from(row.seq).ok().filter(|_| row.seq < self.seqs);
            let seq = seq.ok_or_else(|| format!("sequence {} of {}", row.seq, self.seqs))?;
            for (offset, token) in row.tokens.iter().enumerate() {
                let id = i32::try_from(*token).ok().filter(|_| *token < self.vocab);
                let id = id.ok_or_else(|| format!("token {token} of {}", self.vocab))?;
                let pos = u32::try_from(offset).ok().and_then(|offset| row.start.checked_add(offset));
                let pos = pos
                    .and_then(|pos| i32::try_from(pos).ok())
                    .ok_or_else(|| format!("position {}", row.start))?;
                self.batch.push(id, pos, seq, row.output && offset + 1 == row.tokens.len());
            }
            if row.output {
                self.outputs[at] = i32::try_from(self.batch.used - 1).ok();
            }
        }
        Ok(())
    }

    /// The logits behind the last pass's row, one a vocabulary entry; `None` where none were wanted.
    pub fn logits(&mut self, row: usize) -> Option<&[f32]> {
        let at = self.outputs.get(row).copied().flatten()?;
        // SAFETY: the context is alive; `at` is an output of the last pass, which succeeded.
        let first = unsafe { (self.model.library.symbols.llama_get_logits_ith)(self.raw.as_ptr(), at) };
        // SAFETY: a row of logits has a value for each vocabulary entry, stays until the context is
        // used again, which takes `&mut self`, and is written by nobody meanwhile.
        (!first.is_null()).then(|| unsafe { core::slice::from_raw_parts(first, self.vocab as usize) })
    }

    /// llama.cpp's own argmax behind the last pass's row; `None` where nothing was wanted.
    ///
    /// The sampler runs on the host. llama.cpp can also put it into the graph (`llama_set_sampler`),
    /// but attaching or detaching one makes it plan every graph anew, its outputs take the room of
    /// three rows of logits each, and a pass then has no logits for a sequence that is sampled
    /// otherwise next.
    pub fn argmax(&mut self, row: usize) -> Option<Token> {
        let at = self.outputs.get(row).copied().flatten()?;
        // SAFETY: the context and the chain are alive; `at` is an output of the last pass, which
        // succeeded. The greedy sampler keeps nothing between calls.
        let token = unsafe {
            (self.model.library.symbols.llama_sampler_sample)(self.greedy.as_ptr(), self.raw.as_ptr(), at)
        };
        Token::try_from(token).ok()
    }

    /// Forgets everything a sequence holds.
    pub fn clear(&mut self, seq: u32) {
        self.remove_from(seq, 0);
    }

    /// Forgets a sequence's tokens from position `len` on. `false` where its state can't be cut
    /// there; it is then as it was.
    #[must_use]
    pub fn truncate(&mut self, seq: u32, len: u32) -> bool {
        self.remove_from(seq, len)
    }

    fn remove_from(&mut self, seq: u32, from: u32) -> bool {
        let (Some(seq), Ok(from)) = (self.seq(seq), i32::try_from(from)) else { return false };
        // SAFETY: the memory lives as long as the context; the sequence is one of its.
        unsafe { (self.model.library.symbols.llama_memory_seq_rm)(self.memory.as_ptr(), seq, from, -1) }
    }

    /// Makes the empty sequence `to` hold all that `from` holds.
    pub fn copy(&mut self, from: u32, to: u32) {
        if let (Some(from), Some(to)) = (self.seq(from), self.seq(to)) {
            // SAFETY: the memory lives as long as the context; both are sequences of its. The
            // whole sequence is copied, which buffers of their own demand.
            unsafe {
                (self.model.library.symbols.llama_memory_seq_cp)(self.memory.as_ptr(), from, to, -1, -1);
            }
        }
        if self.apart {
            self.pending.push((from, to));
        }
    }

    pub(super) fn raw(&self) -> *mut RawContext {
        self.raw.as_ptr()
    }

    pub(super) fn library(&self) -> &'static Library {
        self.model.library
    }

    /// Tokens a sequence holds.
    pub fn held(&self, seq: u32) -> u32 {
        u32::try_from(self.last_position(seq) + 1).unwrap_or(0)
    }

    /// The last position a sequence holds; negative where it is empty.
    pub(super) fn last_position(&self, seq: u32) -> i32 {
        let Some(seq) = self.seq(seq) else { return -1 };
        // SAFETY: the memory lives as long as the context; the sequence is one of its.
        unsafe { (self.model.library.symbols.llama_memory_seq_pos_max)(self.memory.as_ptr(), seq) }
    }

    /// Copies that are still to be made, source and target.
    pub(super) fn pending(&self) -> &[(u32, u32)] {
        &self.pending
    }

    pub(super) fn seq(&self, seq: u32) -> Option<i32> {
        i32::try_from(seq).ok().filter(|_| seq < self.seqs)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: both were made by `new` and are freed once; the model outlives them (`Arc`), and
        // so does the abort slot: fields are dropped after this.
        unsafe {
            (self.model.library.symbols.llama_free)(self.raw.as_ptr());
            (self.model.library.symbols.llama_sampler_free)(self.greedy.as_ptr());
        }
    }
}

fn complaint(status: i32) -> String {
    let said = log::take_complaints();
    match said.last() {
        Some(line) => format!("llama.cpp's pass failed ({status}): {line}"),
        None => format!("llama.cpp's pass failed ({status})"),
    }
}

fn not_made(spec: ContextSpec, said: &[String]) -> Refusal {
    let why = said.last().map_or("it does not say why", String::as_str);
    Refusal::new(
        "context_not_made",
        format!("llama.cpp can't hold a context of {} tokens in {} sequences: {why}", spec.cells, spec.seqs),
    )
    .hint("pass a smaller --max-context or --max-batch")
}
