//! Where a served text parts from the text of a bare loop over the same library, and whether
//! rounding may have decided there.

use std::path::Path;
use std::sync::Arc;
use superfluid_core::sched::Token;
use superfluid_worker_kit::Vocabulary;
use superfluid_worker_llamacpp::{
    Context, ContextSpec, Decoded, Library, LlamaVocabulary, LoadMode, LoadedModel, Places, Row,
};

/// How far two candidates' logits may lie apart for rounding to decide between them. A batch of
/// another shape sums in another order and quantizes activations in other blocks; on this model
/// that moves a logit by up to about a tenth, and two move against each other.
pub(super) const MARGIN: f32 = 0.5;

/// A model behind the library alone.
pub(super) struct Bare {
    model: Arc<LoadedModel>,
    vocabulary: LlamaVocabulary,
}

impl Bare {
    /// Loads a model with the library of a home's default install.
    pub(super) fn open(home: &Path, model: &Path) -> Self {
        let folder = home.join("runtimes/llamacpp/current/lib");
        let places = Places { variable: Some(folder), argument: None, executable: None };
        let library = places.library().and_then(|path| Library::open(&path, false)).expect("a library");
        let model = LoadedModel::load(library, model, LoadMode::Serve, &mut |_| true).expect("a model");
        let model = Arc::new(model);
        let vocabulary = LlamaVocabulary::of(&model).expect("a vocabulary");
        Self { model, vocabulary }
    }

    pub(super) fn tokens(&self, text: &str) -> Vec<Token> {
        self.vocabulary.tokenize(text, false, true).expect("tokens")
    }

    /// What a bare loop generates greedily after `prompt`, alone.
    pub(super) fn greedy(&self, prompt: &[Token], tokens: usize) -> Vec<Token> {
        let mut context = self.context();
        let mut next = context.after(0, prompt);
        let mut generated = Vec::with_capacity(tokens);
        while generated.len() < tokens {
            let best = (0..).zip(&next).max_by(|a, b| a.1.total_cmp(b.1)).map(|(token, _)| token);
            generated.extend(best);
            next = context.after(prompt.len() + generated.len() - 1, &generated[generated.len() - 1..]);
        }
        generated
    }

    /// One thread: two tests that run at once on two cores would wait at each other's barriers.
    fn context(&self) -> Alone {
        let spec = ContextSpec {
            cells: 1024,
            seqs: 1,
            unified: false,
            batch: 1024,
            threads: 1,
            paced: false,
            kept: false,
        };
        Alone(Context::new(&self.model, self.vocabulary.size(), spec).expect("a context"))
    }

    /// Compares a served text with the tokens of a bare loop after the same prompt. `None` where
    /// they agree; else, at the token where they part, how far the served and the bare candidate
    /// lie below the best of a teacher-forced pass, whichever is further.
    pub(super) fn gap(&self, prompt: &[Token], bare: &[Token], served: &str) -> Option<f32> {
        let mut rest = served.as_bytes();
        for (index, &token) in bare.iter().enumerate() {
            let piece = self.vocabulary.piece(token);
            match rest.strip_prefix(&piece[..]) {
                Some(after) => rest = after,
                // The last token may end inside a character, which is not sent.
                None if index + 1 == bare.len() && piece.starts_with(rest) => return None,
                None => {
                    let forced = [prompt, &bare[..index]].concat();
                    return Some(self.gap_after(&forced, token, rest));
                }
            }
        }
        assert!(rest.is_empty(), "the served text goes on: {:?}", String::from_utf8_lossy(rest));
        None
    }

    /// How far a greedily served text's tokens lie below the best of a teacher-forced pass over
    /// it, at the worst of them. Where several tokens could begin what is left, the likeliest is taken
    /// to be the one that was generated.
    pub(super) fn worst(&self, prompt: &[Token], served: &str) -> f32 {
        let mut context = self.context();
        let mut logits = context.after(0, prompt);
        let (mut rest, mut worst) = (served.as_bytes(), 0.0_f32);
        let mut at = prompt.len();
        while !rest.is_empty() {
            let better = |a: &Token, b: &Token| logits[*a as usize].total_cmp(&logits[*b as usize]);
            let tokens = 0..self.vocabulary.size();
            let best = tokens.clone().max_by(better).expect("a vocabulary");
            let begins = |token: &Token| {
                let piece = self.vocabulary.piece(*token);
                !piece.is_empty() && rest.starts_with(&piece)
            };
            // A control token prints nothing, and the text goes on after it.
            let silent = self.vocabulary.piece(best).is_empty();
            let taken = if silent { Some(best) } else { tokens.filter(begins).max_by(better) };
            let Some(taken) = taken else { return f32::INFINITY };
            worst = worst.max(logits[best as usize] - logits[taken as usize]);
            rest = &rest[self.vocabulary.piece(taken).len()..];
            logits = context.after(at, &[taken]);
            at += 1;
        }
        worst
    }

    /// `other` is the text that the other candidate, whichever token it is, begins.
    fn gap_after(&self, forced: &[Token], bare: Token, other: &[u8]) -> f32 {
        let logits = self.context().after(0, forced);
        let best = logits.iter().copied().fold(f32::MIN, f32::max);
        let begins = |token: &usize| {
            let piece = self.vocabulary.piece(u32::try_from(*token).expect("a token"));
            // A control token prints nothing, and the text goes on after it.
            *token != bare as usize && other.starts_with(&piece)
        };
        let served = (0..logits.len()).filter(begins).map(|token| logits[token]).fold(f32::MIN, f32::max);
        (best - logits[bare as usize]).max(best - served)
    }
}

/// One sequence.
struct Alone(Context);

impl Alone {
    /// The logits of what follows `tokens`, read in one pass from position `start` on.
    fn after(&mut self, start: usize, tokens: &[Token]) -> Vec<f32> {
        let start = u32::try_from(start).expect("a position");
        let row = Row { seq: 0, start, tokens, output: true };
        assert_eq!(self.0.decode(&[row], None), Decoded::Done);
        self.0.logits(0).expect("logits").to_vec()
    }
}
