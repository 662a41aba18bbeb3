//! The supervisor, case by case and under random deaths.

mod backlog;
mod continued;
mod deadlines;
mod lives;
mod simulation;
mod words;

use superfluid_core::sched::{Class, Copying, Cut, Engine, Finish, JobId, Usage};
use superfluid_core::supervise::{Config, Effect, Event, Exit, ExitStatus, Life, Supervisor};
use superfluid_core::wire::{Input, LoadSpec, Loaded, PROTOCOL, Submit, ToDaemon, ToWorker};
use superfluid_core::{Duration, Instant};

fn loaded() -> Loaded {
    Loaded {
        record: Default::default(),
        engine: Engine {
            lanes: 2,
            seqs: 4,
            seq_tokens: 64,
            pool_tokens: 256,
            step_tokens: 64,
            cut: Cut::Anywhere,
            copying: Copying::Shares,
            mixes: true,
            neighbours: false,
            micro_batch: u32::MAX,
            keeping: Default::default(),
        },
        description: "mock".into(),
        vocab: 100,
        chat: true,
        unconfined: vec![],
    }
}

fn submit(id: u64) -> Submit {
    Submit {
        id: JobId(id),
        class: Class::Agent,
        input: Input::Text { text: "hi".into() },
        sampling: Default::default(),
        max_tokens: Some(4),
        stop: vec![],
        ignore_eos: false,
        logprobs: None,
        committed: vec![],
        delivered: Default::default(),
        held: vec![],
        now_unix: 0,
    }
}

fn hello() -> ToDaemon {
    ToDaemon::Hello { protocol: PROTOCOL, runtime: "mock".into(), version: "0".into() }
}

fn finished(id: u64) -> ToDaemon {
    ToDaemon::Finished { id: JobId(id), finish: Finish::Stop, usage: Usage::default() }
}

fn killed() -> Exit {
    Exit { status: ExitStatus::Signal { signal: 9 }, stderr: vec!["last words".into()] }
}

/// A supervisor with its outputs collected and its invariants checked after each input.
struct Rig {
    sup: Supervisor,
    now: Instant,
    effects: Vec<Effect>,
    sends: Vec<ToWorker>,
    events: Vec<Event>,
}

impl Rig {
    fn new(config: Config) -> Self {
        let sup = Supervisor::new(config, "mock", LoadSpec::default(), Instant::ORIGIN);
        let mut rig = Self { sup, now: Instant::ORIGIN, effects: vec![], sends: vec![], events: vec![] };
        rig.drain();
        rig
    }

    /// A rig whose worker is ready.
    fn ready() -> Self {
        let mut rig = Self::new(Config::default());
        rig.come_up();
        rig
    }

    fn life(&self) -> Life {
        Life(self.sup.lives())
    }

    fn drain(&mut self) {
        self.effects.extend(std::iter::from_fn(|| self.sup.poll_effect()));
        self.sends.extend(std::iter::from_fn(|| self.sup.poll_send()));
        self.events.extend(std::iter::from_fn(|| self.sup.poll_event()));
        self.sup.check_invariants().unwrap();
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Supervisor, Instant) -> T) -> T {
        let out = act(&mut self.sup, self.now);
        self.drain();
        out
    }

    fn spawned(&mut self) {
        let life = self.life();
        self.act(|sup, now| sup.handle_spawned(life, Ok(()), now)).unwrap();
    }

    fn frame(&mut self, frame: ToDaemon) {
        let life = self.life();
        self.act(|sup, now| sup.handle_frame(life, frame, now));
    }

    fn exit(&mut self, exit: Exit) {
        let life = self.life();
        self.act(|sup, now| sup.handle_exit(life, exit, now)).unwrap();
    }

    fn submit(&mut self, id: u64) {
        self.act(|sup, now| sup.submit(submit(id), now)).unwrap();
    }

    fn come_up(&mut self) {
        self.spawned();
        self.frame(hello());
        self.frame(ToDaemon::Loaded(loaded()));
    }

    fn pass(&mut self, by: Duration) {
        self.now = self.now + by;
        self.act(Supervisor::handle_timeout);
    }

    /// Passes to the next deadline.
    fn pass_to_deadline(&mut self) {
        let (at, _) = self.sup.poll_timeout().expect("a deadline");
        self.now = self.now.max(at);
        self.act(Supervisor::handle_timeout);
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn down(&mut self) -> (String, Option<Duration>) {
        let found = self.take_events().into_iter().find_map(|event| match event {
            Event::Down { death, restart_in } => Some((death.refusal.message, restart_in)),
            _ => None,
        });
        found.expect("the worker is down")
    }
}
