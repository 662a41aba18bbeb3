//! A daemon's end of the link, blocking.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::thread::{self, JoinHandle};
use superfluid_core::Refusal;
use superfluid_core::sched::{Class, Finish, JobId, Token, Usage};
use superfluid_core::wire::{
    Decoder, Input, LoadSpec, Loaded, PROTOCOL, Sampling, Submit, ToDaemon, ToWorker, TokenLogprob, encode,
};
use superfluid_worker_kit::{Ended, serve};
use superfluid_worker_mock::{MockRuntime, Script};

pub(crate) struct Link {
    to: Option<PipeWriter>,
    from: PipeReader,
    decoder: Decoder,
    worker: JoinHandle<Ended>,
}

/// What became of one job.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) tokens: Vec<Token>,
    pub(crate) pieces: Vec<String>,
    pub(crate) logprobs: Vec<TokenLogprob>,
    /// What a successor is given of what was told with and before each token.
    pub(crate) kept: Vec<Submit>,
    pub(crate) end: Option<Result<(Finish, Usage), Refusal>>,
}

impl Told {
    pub(crate) fn text(&self) -> String {
        self.pieces.concat()
    }

    pub(crate) fn finish(&self) -> Finish {
        self.end.clone().unwrap().unwrap().0
    }
}

impl Link {
    /// A worker in a thread, greeted and told to load.
    pub(crate) fn load(script: Script) -> Self {
        Self::load_as(script, LoadSpec::default())
    }

    pub(crate) fn load_as(script: Script, spec: LoadSpec) -> Self {
        let (input, to) = pipe().unwrap();
        let (from, output) = pipe().unwrap();
        let worker = thread::spawn(move || serve(&mut MockRuntime::new(script), input, output, None));
        let mut link = Self { to: Some(to), from, decoder: Decoder::new(), worker };
        link.say(&ToWorker::Hello { protocol: PROTOCOL });
        let spec = LoadSpec { model: "mock".into(), max_batch: 8, ..spec };
        link.say(&ToWorker::Load(spec));
        assert!(matches!(link.hear(), Some(ToDaemon::Hello { protocol: PROTOCOL, .. })));
        link
    }

    pub(crate) fn ready(script: Script) -> Self {
        let mut link = Self::load(script);
        link.loaded();
        link
    }

    pub(crate) fn loaded(&mut self) -> Loaded {
        loop {
            match self.hear().unwrap() {
                ToDaemon::Progress { .. } => {}
                ToDaemon::Loaded(loaded) => return loaded,
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn say(&mut self, frame: &ToWorker) {
        let mut bytes = Vec::new();
        encode(frame, &mut bytes).unwrap();
        self.raw(&bytes);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next frame, numbers about the worker aside.
    pub(crate) fn hear(&mut self) -> Option<ToDaemon> {
        loop {
            match self.hear_any()? {
                ToDaemon::Stats(_) => {}
                frame => return Some(frame),
            }
        }
    }

    pub(crate) fn hear_any(&mut self) -> Option<ToDaemon> {
        loop {
            if let Some(frame) = self.decoder.poll_frame() {
                return Some(frame.unwrap());
            }
            let mut chunk = [0; 4096];
            match self.from.read(&mut chunk).unwrap() {
                0 => return None,
                came => self.decoder.handle_bytes(&chunk[..came]),
            }
        }
    }

    /// Hears until `count` jobs have ended; indexed by id.
    pub(crate) fn hear_out(&mut self, count: usize) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        let mut ended = 0;
        let mut at = |id: JobId, act: &mut dyn FnMut(&mut Told)| {
            let index = id.0 as usize;
            if told.len() <= index {
                told.resize_with(index + 1, Told::default);
            }
            assert!(told[index].end.is_none(), "job {index} was told of after its end");
            act(&mut told[index]);
        };
        while ended < count {
            match self.hear().unwrap() {
                ToDaemon::Updates { jobs } => {
                    for job in jobs {
                        at(job.id, &mut |told| {
                            told.tokens.extend(&job.tokens);
                            told.logprobs.extend(job.logprobs.clone());
                            if !job.text.is_empty() {
                                told.pieces.push(job.text.clone());
                            }
                            let mut kept =
                                told.kept.last().cloned().unwrap_or_else(|| self::job(job.id.0, "", 0));
                            kept.commit(&mut job.clone());
                            told.kept.resize(told.tokens.len(), kept);
                        });
                    }
                }
                ToDaemon::Finished { id, finish, usage } => {
                    at(id, &mut |told| told.end = Some(Ok((finish, usage))));
                    ended += 1;
                }
                ToDaemon::Failed { id, refusal } => {
                    at(id, &mut |told| told.end = Some(Err(refusal.clone())));
                    ended += 1;
                }
                ToDaemon::Accepted { .. } | ToDaemon::Pong { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        told
    }

    /// Submits one job with id 0 and hears it out.
    pub(crate) fn ask(&mut self, submit: Submit) -> Told {
        self.say(&ToWorker::Submit(submit));
        self.hear_out(1).remove(0)
    }

    pub(crate) fn hang_up(&mut self) {
        self.to = None;
    }

    pub(crate) fn end(self) -> Ended {
        drop((self.to, self.from));
        self.worker.join().unwrap()
    }
}

/// A greedy job for a text prompt.
pub(crate) fn job(id: u64, prompt: &str, max_tokens: u32) -> Submit {
    Submit {
        id: JobId(id),
        class: Class::Agent,
        input: Input::Text { text: prompt.into() },
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
        max_tokens: Some(max_tokens),
        stop: Vec::new(),
        ignore_eos: false,
        logprobs: None,
        committed: Vec::new(),
        delivered: Default::default(),
        held: Vec::new(),
        now_unix: 0,
    }
}
