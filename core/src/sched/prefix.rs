//! Where a job that gets a lane runs: on a sequence that already holds the head of its prompt, or
//! on a blank one.

use super::seqs::Seqs;
use super::{Copying, Cut, Engine, JobId, SeqId, SeqOp, Token};
use alloc::vec::Vec;

/// Kept tokens one reused token may cost: a head shorter than this share of what would be cut off
/// is run again instead (every prompt of a model shares its first few tokens).
const WORTH: u64 = 8;

/// Claims a sequence for `job`; it holds the head of `tokens` or nothing, never all of them. `None`
/// only if no sequence is free.
pub(super) fn place(
    seqs: &mut Seqs,
    engine: &Engine,
    job: JobId,
    tokens: &[Token],
    ops: &mut Vec<SeqOp>,
) -> Option<SeqId> {
    let seq = match best(seqs, engine.cut, tokens) {
        Some((kept, shared)) => branch(seqs, engine, kept, shared, ops),
        None => fresh(seqs, ops)?,
    };
    seqs.claim(seq, job);
    Some(seq)
}

/// The kept sequence that saves most; of equals the shortest, then the one used longest ago.
fn best(seqs: &Seqs, cut: Cut, tokens: &[Token]) -> Option<(SeqId, u32)> {
    // At least one token must run, or there is nothing to sample from.
    let usable = &tokens[..tokens.len().saturating_sub(1)];
    let mut best: Option<(SeqId, usize, usize)> = None;
    for (id, seq) in seqs.kept() {
        let held = seq.tokens();
        let shared = match cut {
            Cut::Anywhere => held.iter().zip(usable).take_while(|(a, b)| a == b).count(),
            Cut::HeadOnly if usable.starts_with(held) => held.len(),
            Cut::HeadOnly => 0,
        };
        let better = best.is_none_or(|(_, most, len)| shared > most || shared == most && held.len() < len);
        if shared > 0 && better {
            best = Some((id, shared, held.len()));
        }
    }
    best.map(|(id, shared, _)| (id, shared as u32))
}

/// Takes `kept` as it is, copies its head, cuts it, or leaves it alone: whatever loses least.
fn branch(seqs: &mut Seqs, engine: &Engine, kept: SeqId, shared: u32, ops: &mut Vec<SeqOp>) -> SeqId {
    let tail = seqs.get(kept).tokens().len() as u64 - u64::from(shared);
    if tail == 0 {
        return kept;
    }
    if let Some(other) = seqs.spare(Some(kept)) {
        let loss = seqs.get(other).tokens().len() as u64;
        let fits = seqs.cells() - loss + u64::from(shared) <= u64::from(engine.pool_tokens);
        if engine.copying == Copying::Shares && loss < tail && fits {
            seqs.clear(other, ops);
            seqs.copy(kept, other, shared, ops);
            seqs.touch(kept);
            return other;
        }
        if u64::from(shared) * WORTH + loss < tail {
            seqs.clear(other, ops);
            return other;
        }
    }
    seqs.truncate(kept, shared, ops);
    kept
}

fn fresh(seqs: &mut Seqs, ops: &mut Vec<SeqOp>) -> Option<SeqId> {
    let spare = seqs.spare(None)?;
    seqs.clear(spare, ops);
    Some(spare)
}
