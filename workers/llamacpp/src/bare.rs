//! A bare loop over the library: what the machine and llama.cpp can do with nothing of superfluid
//! around them. A bench divides by it.

use crate::ffi::{Context, ContextSpec, Decoded, LlamaVocabulary, LoadedModel, Row};
use crate::host;
use std::sync::Arc;
use std::time::{Duration, Instant};
use superfluid_core::Refusal;
use superfluid_core::sched::Token;
use superfluid_worker_kit::Vocabulary;

/// What a bare run took and made.
#[derive(Clone, Debug)]
pub struct BareRun {
    /// Time for the prompts, first tokens included.
    pub prefill: Duration,
    /// Time for the tokens after the first.
    pub decode: Duration,
    /// The tokens each stream generated.
    pub streams: Vec<Vec<Token>>,
}

impl BareRun {
    /// Tokens a second of all streams together, prompts excluded.
    pub fn tokens_per_second(&self) -> f64 {
        let tokens: usize = self.streams.iter().map(|stream| stream.len().saturating_sub(1)).sum();
        tokens as f64 / self.decode.as_secs_f64().max(1e-9)
    }
}

/// Decodes every prompt greedily for exactly `tokens` tokens, all streams in one pass a token, each
/// with a KV buffer of `window` tokens. End-of-text tokens do not end a stream. Threads are made for
/// each pass, as llama.cpp does by itself, or `kept` between passes, as superfluid's worker does.
///
/// # Errors
/// Whatever llama.cpp refuses, in its words.
pub fn bare_greedy(
    model: &Arc<LoadedModel>,
    prompts: &[Vec<Token>],
    tokens: usize,
    window: u32,
    kept: bool,
) -> Result<BareRun, Refusal> {
    let vocabulary =
        LlamaVocabulary::of(model).ok_or_else(|| Refusal::new("bare_run", "the model has no vocabulary"))?;
    let seqs = u32::try_from(prompts.len()).unwrap_or(u32::MAX).max(1);
    let spec = ContextSpec {
        cells: window.saturating_mul(seqs),
        seqs,
        unified: false,
        batch: 2048,
        threads: host::threads(),
        paced: true,
        kept,
    };
    let mut context = Context::new(model, vocabulary.size(), spec)?;
    let mut streams = vec![Vec::with_capacity(tokens); prompts.len()];

    let started = Instant::now();
    for (seq, prompt) in (0u32..).zip(prompts) {
        let chunk = context.batch_tokens() as usize;
        let last = prompt.len().saturating_sub(1) / chunk;
        for (index, tokens) in prompt.chunks(chunk).enumerate() {
            let start = u32::try_from(index * chunk).unwrap_or(u32::MAX);
            pass(&mut context, &[Row { seq, start, tokens, output: index == last }])?;
        }
        streams[seq as usize].push(best(&mut context, 0)?);
    }
    let prefill = started.elapsed();

    let started = Instant::now();
    for round in 1..tokens {
        let rows: Vec<Row<'_>> = (0u32..)
            .zip(prompts.iter().zip(&streams))
            .map(|(seq, (prompt, stream))| Row {
                seq,
                start: u32::try_from(prompt.len() + round - 1).unwrap_or(u32::MAX),
                tokens: &stream[round - 1..],
                output: true,
            })
            .collect();
        pass(&mut context, &rows)?;
        for (row, stream) in streams.iter_mut().enumerate() {
            stream.push(best(&mut context, row)?);
        }
    }
    Ok(BareRun { prefill, decode: started.elapsed(), streams })
}

fn pass(context: &mut Context, rows: &[Row<'_>]) -> Result<(), Refusal> {
    match context.decode(rows, None) {
        Decoded::Done => Ok(()),
        other => Err(Refusal::new("bare_run", format!("a pass failed: {other:?}"))),
    }
}

fn best(context: &mut Context, row: usize) -> Result<Token, Refusal> {
    context.argmax(row).ok_or_else(|| Refusal::new("bare_run", "a pass brought nothing"))
}
