//! One job on the device: how its tokens are drawn and what becomes of their text.

use super::prepare::Prepared;
use crate::primitives::{Pick, Picked};
use crate::runtime::Vocabulary;
use crate::sample::{IMPOSSIBLE, Sampler, Scratch, rank};
use std::collections::VecDeque;
use superfluid_core::Refusal;
use superfluid_core::sched::{End, JobId, Token};
use superfluid_core::text::{TextOut, Verdict};
use superfluid_core::wire::{Delivered, JobUpdate, TokenLogprob, TopLogprob};

pub(super) struct Live {
    sampler: Sampler,
    text: TextOut,
    ignore_eos: bool,
    logprobs: Option<u8>,
    /// Entries of tokens whose text is held back.
    held: VecDeque<TokenLogprob>,
    /// What comes out first and the client has from the worker before.
    skip: Delivered,
}

impl Live {
    /// The job as it is after its committed tokens, and whether it ended with one of them. What the
    /// client has of their text is not sent again; what they left open (half a character, the start of
    /// a stop string) goes on from where it was.
    pub(super) fn new(prepared: &Prepared, vocabulary: &dyn Vocabulary) -> (Self, Option<End>) {
        let job = &prepared.job;
        let (prompt, committed) = job.prompt.split_at(job.prompt.len() - job.committed as usize);
        let mut live = Self {
            sampler: Sampler::new(prepared.sampling.clone(), prompt),
            text: TextOut::new(&prepared.stop),
            ignore_eos: prepared.ignore_eos,
            logprobs: prepared.logprobs,
            held: VecDeque::new(),
            skip: prepared.delivered,
        };
        let mut end = None;
        let mut held = prepared.held.iter();
        for (at, &token) in committed.iter().enumerate() {
            let owed = at as u64 >= prepared.delivered.logprobs;
            let kept = if owed { held.next().cloned() } else { None };
            // What the client has is skipped, so nothing needs to be known of it.
            let entry = live.logprobs.map(|_| kept.unwrap_or_else(|| unknown(token, vocabulary)));
            end = end.or(live.take(token, entry, vocabulary));
        }
        (live, end)
    }

    /// How the runtime should choose the job's next token.
    pub(super) fn pick(&self) -> Pick {
        if self.sampler.is_plain_greedy() && self.logprobs.is_none() { Pick::Argmax } else { Pick::Logits }
    }

    /// Takes what a pass brought, as the token at `position`; what the client gets of it is added
    /// to `update`.
    pub(super) fn next(
        &mut self,
        picked: &Picked<'_>,
        position: u32,
        vocabulary: &dyn Vocabulary,
        scratch: &mut Scratch,
        update: &mut JobUpdate,
    ) -> Result<(Token, Option<End>), Refusal> {
        let size = vocabulary.size();
        let (token, entry) = match *picked {
            Picked::Token(token) => (token, None),
            Picked::Logits(logits) if logits.len() == size as usize => {
                let token = self.sampler.draw(logits, position, scratch)?;
                let entry = self.logprobs.map(|top| entry(logits, token, top, vocabulary));
                (token, entry)
            }
            Picked::Logits(logits) => {
                return Err(fault(&format!("{} logits for {size} tokens", logits.len())));
            }
            Picked::Nothing => return Err(fault("no token where one was wanted")),
        };
        if token >= size {
            return Err(fault(&format!("token {token}, of {size}")));
        }
        let end = self.take(token, entry, vocabulary);
        update.tokens.push(token);
        self.give(update);
        Ok((token, end))
    }

    /// The job is over: text that was held back is the client's. Whether it ends at a stop string.
    pub(super) fn finish(&mut self, update: &mut JobUpdate) -> bool {
        let verdict = self.text.finish();
        self.give(update);
        verdict == Verdict::Stop
    }

    fn take(
        &mut self,
        token: Token,
        entry: Option<TokenLogprob>,
        vocabulary: &dyn Vocabulary,
    ) -> Option<End> {
        self.sampler.accept(token);
        let ends = vocabulary.is_end(token) && !self.ignore_eos;
        let piece = if ends { Vec::new() } else { vocabulary.piece(token) };
        self.held.extend(entry);
        let verdict = self.text.push(&piece);
        if ends {
            return Some(End::EndOfText);
        }
        (verdict == Verdict::Stop).then_some(End::StopString)
    }

    fn give(&mut self, update: &mut JobUpdate) {
        let text = self.text.take_ready();
        let had = usize::try_from(self.skip.text).unwrap_or(usize::MAX).min(text.len());
        self.skip.text -= had as u64;
        update.text += text.get(had..).unwrap_or_default();
        let covered = self.text.take_covered().min(self.held.len());
        let had = usize::try_from(self.skip.logprobs).unwrap_or(usize::MAX).min(covered);
        self.skip.logprobs -= had as u64;
        update.logprobs.extend(self.held.drain(..covered).skip(had));
        let new = self.held.len().saturating_sub(update.tokens.len());
        update.held = self.held.range(new..).cloned().collect();
    }
}

/// An update without anything in it.
pub(super) fn nothing(id: JobId) -> JobUpdate {
    JobUpdate { id, tokens: Vec::new(), text: String::new(), logprobs: Vec::new(), held: Vec::new() }
}

fn entry(logits: &[f32], token: Token, top: u8, vocabulary: &dyn Vocabulary) -> TokenLogprob {
    let ranked = rank(logits, token, usize::from(top));
    let bytes = |token| if vocabulary.is_end(token) { Vec::new() } else { vocabulary.piece(token) };
    let top = ranked.top.into_iter().map(|(token, logprob)| TopLogprob { bytes: bytes(token), logprob });
    TokenLogprob { bytes: bytes(token), logprob: ranked.logprob, top: top.collect() }
}

/// The entry of a token whose logits are gone with the worker that had them.
fn unknown(token: Token, vocabulary: &dyn Vocabulary) -> TokenLogprob {
    TokenLogprob { bytes: vocabulary.piece(token), logprob: IMPOSSIBLE, top: Vec::new() }
}

fn fault(what: &str) -> Refusal {
    Refusal::new("engine_fault", format!("the runtime gave {what}"))
}
