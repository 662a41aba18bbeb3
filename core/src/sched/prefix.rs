//! Where a job that gets a lane runs: on a sequence that already holds the head of its prompt, or
//! on a blank one.

use super::seqs::Seqs;
use super::{Config, JobId, SeqId, SeqOp, Token};
use alloc::vec::Vec;

/// Kept tokens one reused token may cost: a head shorter than this share of what would be cut off
/// is run again instead (every prompt of a model shares its first few tokens).
const WORTH: i64 = 8;

/// Claims a sequence for `job`; it holds the head of `tokens` or nothing, never all of them. `None`
/// only if no sequence is free.
pub(super) fn place(
    seqs: &mut Seqs,
    config: &Config,
    job: JobId,
    tokens: &[Token],
    ops: &mut Vec<SeqOp>,
) -> Option<SeqId> {
    let seq = match best(seqs, config, tokens) {
        Some(Head { seq, shared, running: false }) => branch(seqs, config, seq, shared, ops),
        Some(Head { seq, shared, running: true }) => fork(seqs, config, seq, shared, ops)?,
        None => fresh(seqs, config, ops)?,
    };
    seqs.claim(seq, job);
    Some(seq)
}

/// A sequence that holds the head of a job's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    seq: SeqId,
    /// Tokens of it that the job can use.
    pub(super) shared: u32,
    /// It is another job's, so it can only be copied.
    pub(super) running: bool,
}

/// The tokens of a job whose state could come from elsewhere: at least one must run, or there is
/// nothing to sample from.
pub(super) fn usable(tokens: &[Token]) -> &[Token] {
    &tokens[..tokens.len().saturating_sub(1)]
}

/// The sequence that saves most. Of kept ones that save as much the shortest; a running one only if
/// that saves more than the copy costs.
pub(super) fn best(seqs: &Seqs, config: &Config, tokens: &[Token]) -> Option<Head> {
    let heads = seqs.find(usable(tokens), config.engine.cut);
    let kept = heads.kept.map(|(seq, shared)| Head { seq, shared, running: false });
    let Some(cost) = config.copying() else { return kept };
    let least = kept.map_or(0, |head| head.shared as usize) + cost;
    let running = heads.running.filter(|&(_, shared)| shared as usize > least);
    running.map(|(seq, shared)| Head { seq, shared, running: true }).or(kept)
}

/// Takes `kept` as it is, copies its head, cuts it, or leaves it alone: whatever loses least.
fn branch(seqs: &mut Seqs, config: &Config, kept: SeqId, shared: u32, ops: &mut Vec<SeqOp>) -> SeqId {
    let tail = seqs.get(kept).len() as u64 - u64::from(shared);
    let root = seqs.get(kept).root;
    if tail == 0 && !root {
        return kept;
    }
    if let Some(other) = seqs.spare(Some(kept), config.engine.neighbours) {
        let loss = seqs.get(other).len() as u64;
        let fits = seqs.cells() - loss + u64::from(shared) <= u64::from(config.engine.pool_tokens);
        // A head that is run again sooner than it is copied is not worth a copy, whatever it saves.
        let pays = config
            .copying()
            .is_some_and(|cost| shared as usize > cost && (root || tail > loss + cost as u64));
        if pays && fits {
            seqs.clear(other, ops);
            seqs.copy(kept, other, shared, ops);
            seqs.touch(kept);
            return other;
        }
        let apart = if config.engine.neighbours { seqs.widening(kept) - seqs.widening(other) } else { 0 };
        if root || i64::from(shared) * WORTH + (loss as i64) < tail as i64 + apart {
            seqs.clear(other, ops);
            return other;
        }
    }
    if tail > 0 {
        seqs.truncate(kept, shared, ops);
    }
    kept
}

/// Copies the head of a running job's sequence.
fn fork(seqs: &mut Seqs, config: &Config, from: SeqId, shared: u32, ops: &mut Vec<SeqOp>) -> Option<SeqId> {
    let to = fresh(seqs, config, ops)?;
    // The job was let in because it fits beside the others that run.
    while seqs.cells() + u64::from(shared) > u64::from(config.engine.pool_tokens) && seqs.evict_oldest(ops) {}
    seqs.copy(from, to, shared, ops);
    Some(to)
}

/// Keeps a copy of a running job's sequence, if there is room.
pub(super) fn keep(seqs: &mut Seqs, config: &Config, from: SeqId, ops: &mut Vec<SeqOp>) {
    let Some(to) = seqs.spare(None, config.engine.neighbours) else { return };
    let (len, loss) = (seqs.get(from).len(), seqs.get(to).len());
    if seqs.cells() - loss as u64 + len as u64 <= u64::from(config.engine.pool_tokens) {
        seqs.clear(to, ops);
        seqs.copy(from, to, len as u32, ops);
        seqs.root(to);
    }
}

fn fresh(seqs: &mut Seqs, config: &Config, ops: &mut Vec<SeqOp>) -> Option<SeqId> {
    let spare = seqs.spare(None, config.engine.neighbours)?;
    seqs.clear(spare, ops);
    Some(spare)
}
