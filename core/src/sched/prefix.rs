//! Where a job that gets a lane runs: on a sequence that already holds the head of its prompt, or
//! on a blank one.

use super::seqs::Seqs;
use super::{Config, JobId, SeqId, SeqOp, StateId, Token};
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
        Some(Head { from: From::Kept(seq), shared }) => branch(seqs, config, seq, shared, ops),
        Some(Head { from: From::Running(seq), shared }) => fork(seqs, config, seq, shared, ops)?,
        Some(Head { from: From::Host(state), shared }) => fetch(seqs, config, state, shared, ops)?,
        None => fresh(seqs, config, ops)?,
    };
    seqs.claim(seq, job);
    Some(seq)
}

/// A state that holds the head of a job's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) from: From,
    /// Tokens of it that the job can use.
    pub(super) shared: u32,
}

/// Where such a state is.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// In a sequence of nobody.
    Kept(SeqId),
    /// In another job's sequence, so it can only be copied.
    Running(SeqId),
    /// In host memory.
    Host(StateId),
}

/// The tokens of a job whose state could come from elsewhere: at least one must run, or there is
/// nothing to sample from.
pub(super) fn usable(tokens: &[Token]) -> &[Token] {
    &tokens[..tokens.len().saturating_sub(1)]
}

/// The state that saves most. Of kept ones that save as much the shortest; a running one, or one in
/// host memory, only if that saves more than the copy or the import costs.
pub(super) fn best(seqs: &Seqs, config: &Config, tokens: &[Token]) -> Option<Head> {
    let heads = seqs.find(usable(tokens), config.engine.cut);
    let mut best = heads.kept.map(|(seq, shared)| Head { from: From::Kept(seq), shared });
    let mut saved = heads.kept.map_or(0, |(_, shared)| shared);
    if let (Some((seq, shared)), Some(cost)) = (heads.running, seqs.tolls.copy(config))
        && shared > saved.saturating_add(cost)
    {
        best = Some(Head { from: From::Running(seq), shared });
        saved = shared - cost;
    }
    if let Some((state, shared)) = heads.host {
        let len = seqs.state_len(state);
        let fits = seqs.running_cells() + u64::from(len) <= u64::from(config.engine.pool_tokens);
        if fits && shared > saved.saturating_add(seqs.tolls.import(len)) {
            best = Some(Head { from: From::Host(state), shared });
        }
    }
    best
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
        let cost = seqs.tolls.copy(config);
        // A head that is run again sooner than it is copied is not worth a copy, whatever it saves.
        let pays = cost.is_some_and(|cost| shared > cost && (root || tail > loss + u64::from(cost)));
        if pays && fits {
            seqs.give_up(other, config, ops);
            seqs.copy(kept, other, shared, ops);
            seqs.touch(kept);
            return other;
        }
        let apart = if config.engine.neighbours { seqs.widening(kept) - seqs.widening(other) } else { 0 };
        if root || i64::from(shared) * WORTH + (loss as i64) < tail as i64 + apart {
            seqs.give_up(other, config, ops);
            return other;
        }
    }
    if tail > 0 {
        if tail >= u64::from(config.save_from) {
            seqs.save(kept, config, ops);
        }
        seqs.truncate(kept, shared, ops);
    }
    kept
}

/// Imports a state, and cuts what the job cannot use of it.
fn fetch(
    seqs: &mut Seqs,
    config: &Config,
    state: StateId,
    shared: u32,
    ops: &mut Vec<SeqOp>,
) -> Option<SeqId> {
    let len = seqs.state_len(state);
    let to = seqs.holding(state, |seqs| {
        let to = fresh(seqs, config, ops)?;
        // `best` saw that it fits beside the jobs that run.
        while seqs.cells() + u64::from(len) > u64::from(config.engine.pool_tokens)
            && seqs.evict_oldest(config, ops)
        {}
        Some(to)
    })?;
    seqs.import(state, to, ops);
    if shared < len {
        seqs.truncate(to, shared, ops);
    }
    Some(to)
}

/// Copies the head of a running job's sequence.
fn fork(seqs: &mut Seqs, config: &Config, from: SeqId, shared: u32, ops: &mut Vec<SeqOp>) -> Option<SeqId> {
    let to = fresh(seqs, config, ops)?;
    // The job was let in because it fits beside the others that run.
    while seqs.cells() + u64::from(shared) > u64::from(config.engine.pool_tokens)
        && seqs.evict_oldest(config, ops)
    {}
    seqs.copy(from, to, shared, ops);
    Some(to)
}

/// Keeps a copy of a running job's sequence, if there is room.
pub(super) fn keep(seqs: &mut Seqs, config: &Config, from: SeqId, ops: &mut Vec<SeqOp>) {
    let Some(to) = seqs.spare(None, config.engine.neighbours) else { return };
    let (len, loss) = (seqs.get(from).len(), seqs.get(to).len());
    if seqs.cells() - loss as u64 + len as u64 <= u64::from(config.engine.pool_tokens) {
        seqs.give_up(to, config, ops);
        seqs.copy(from, to, len as u32, ops);
        seqs.root(to);
    }
}

fn fresh(seqs: &mut Seqs, config: &Config, ops: &mut Vec<SeqOp>) -> Option<SeqId> {
    let spare = seqs.spare(None, config.engine.neighbours)?;
    seqs.give_up(spare, config, ops);
    Some(spare)
}
