//! Which model is loaded and where requests go, case by case and under random worlds.

mod asked;
mod hopeless;
mod room;
mod waiting;
mod worlds;

use superfluid_core::fleet::{
    AskId, Config, Effect, Event, Fleet, Gone, Listed, Load, ModelIx, RequestId, Standing,
};
use superfluid_core::{Duration, Instant, Refusal};

/// A fleet with its outputs collected and its invariants checked after each input.
struct Rig {
    fleet: Fleet,
    now: Instant,
    effects: Vec<Effect>,
    events: Vec<Event>,
}

impl Rig {
    /// Models that begin with `!` are asked for at the start.
    fn new(config: Config, models: &[&str]) -> Self {
        let listed = models
            .iter()
            .map(|id| Listed { id: id.trim_start_matches('!').into(), at_start: id.starts_with('!') });
        let fleet = Fleet::new(config, listed, Instant::ORIGIN);
        let mut rig = Self { fleet, now: Instant::ORIGIN, effects: vec![], events: vec![] };
        rig.drain();
        rig
    }

    fn drain(&mut self) {
        self.effects.extend(std::iter::from_fn(|| self.fleet.poll_effect()));
        self.events.extend(std::iter::from_fn(|| self.fleet.poll_event()));
        self.fleet.check_invariants().unwrap();
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Fleet, Instant) -> T) -> T {
        let out = act(&mut self.fleet, self.now);
        self.drain();
        out
    }

    fn request(&mut self, id: u64, model: &str) {
        self.act(|fleet, now| fleet.request(RequestId(id), model, None, now)).unwrap();
    }

    fn ready(&mut self, load: u64) {
        self.act(|fleet, now| fleet.handle_ready(Load(load), now)).unwrap();
    }

    fn stopped(&mut self, load: u64) {
        self.act(|fleet, now| fleet.handle_gone(Load(load), Gone::Stopped { cut: 0 }, now)).unwrap();
    }

    fn failed(&mut self, load: u64) {
        let refusal = Refusal::new("worker_died", "it died");
        self.act(|fleet, now| fleet.handle_gone(Load(load), Gone::Failed { refusal }, now)).unwrap();
    }

    fn done(&mut self, id: u64) {
        self.act(|fleet, now| fleet.done(RequestId(id), now));
    }

    fn load(&mut self, ask: u64, model: &str) {
        self.act(|fleet, now| fleet.load(AskId(ask), model, now));
    }

    fn unload(&mut self, ask: u64, model: &str) {
        self.act(|fleet, now| fleet.unload(AskId(ask), model, now));
    }

    fn pass(&mut self, by: Duration) {
        self.now = self.now + by;
        self.act(Fleet::handle_timeout);
    }

    fn standing(&self, model: &str) -> Standing {
        self.fleet.standing(self.fleet.find(model).unwrap())
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The code each refused request got.
    fn refused(&mut self) -> Vec<(u64, String)> {
        let refused = self.take_events().into_iter().filter_map(|event| match event {
            Event::Refused { request, refusal } => Some((request.0, refusal.code)),
            _ => None,
        });
        refused.collect()
    }
}

fn start(model: usize, load: u64) -> Effect {
    Effect::Start { model: ModelIx(model), load: Load(load) }
}

fn go(request: u64, load: u64) -> Event {
    Event::Go { request: RequestId(request), load: Load(load) }
}

fn answered(ask: u64) -> Event {
    Event::Answered { ask: AskId(ask), refusal: None }
}
