//! Random worlds: loads that come up, fail and die, clients that come and go, operators who change
//! their minds. Every request goes or is refused exactly once, nothing with requests is ended before
//! the server ends, and whoever waits is served once the world keeps still. Nothing that requests cause
//! makes the server hopeless.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MODELS: [&str; 4] = ["!a", "!b", "c", "d"];
/// None of which is loaded on its first use alone.
const NAMED: [&str; 3] = ["!a", "!b", "!c"];

#[derive(Clone, Copy, Debug)]
enum Act {
    Request(usize, Option<u64>),
    Done(usize),
    Ready(usize),
    Gone(usize, bool),
    Load(usize),
    Unload(usize),
    Pass(u64),
    Timeout,
    Drain,
    Stop,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        10 => (0usize..5, prop::option::weighted(0.3, 0u64..50)).prop_map(|(m, d)| Act::Request(m, d)),
        8 => (0usize..9).prop_map(Act::Done),
        8 => (0usize..4).prop_map(Act::Ready),
        4 => (0usize..4, prop::bool::weighted(0.3)).prop_map(|(at, failed)| Act::Gone(at, failed)),
        2 => (0usize..5).prop_map(Act::Load),
        2 => (0usize..5).prop_map(Act::Unload),
        4 => (0u64..40).prop_map(Act::Pass),
        4 => Just(Act::Timeout),
        1 => prop::bool::weighted(0.1).prop_map(|on| if on { Act::Drain } else { Act::Timeout }),
        1 => prop::bool::weighted(0.1).prop_map(|on| if on { Act::Stop } else { Act::Timeout }),
    ]
}

/// What the driver knows.
#[derive(Default)]
struct World {
    /// Loads that are under way, and whether they are up.
    loads: BTreeMap<u64, bool>,
    told_to_end: BTreeSet<u64>,
    /// Requests with a load.
    running: BTreeMap<u64, u64>,
    waiting: BTreeSet<u64>,
    asks: BTreeSet<u64>,
    over: bool,
    /// Whether any load has been up.
    served: bool,
    hopeless: bool,
    ending: bool,
    log: Vec<String>,
}

impl World {
    fn take(&mut self, rig: &mut Rig) {
        for effect in rig.take_effects() {
            self.log.push(format!("{effect:?}"));
            match effect {
                Effect::Start { load, .. } => assert!(self.loads.insert(load.0, false).is_none()),
                Effect::Drain { load } | Effect::Stop { load } => {
                    let busy = self.running.values().any(|of| *of == load.0);
                    assert!(self.ending || !busy, "a load with requests is ended");
                    assert!(self.loads.contains_key(&load.0));
                    self.told_to_end.insert(load.0);
                }
            }
        }
        for event in rig.take_events() {
            if event == Event::Hopeless {
                assert!(!self.served && !self.ending && !std::mem::replace(&mut self.hopeless, true));
                assert!(self.loads.is_empty(), "{:?} may come up", self.loads);
                assert_eq!(rig.fleet.find("d"), None, "what is loaded on its first use may be good");
            }
            let refuses = matches!(event, Event::Refused { .. } | Event::Answered { .. });
            assert!(!self.over || refuses, "{event:?} after the end");
            self.log.push(format!("{event:?}"));
            match event {
                Event::Go { request, load } => {
                    assert_eq!(self.loads.get(&load.0), Some(&true), "it goes to a load that is up");
                    assert!(!self.told_to_end.contains(&load.0));
                    assert!(self.waiting.remove(&request.0));
                    self.running.insert(request.0, load.0);
                }
                Event::Refused { request, .. } => assert!(self.waiting.remove(&request.0)),
                Event::Answered { ask, .. } => assert!(self.asks.remove(&ask.0)),
                Event::Hopeless => {}
                Event::Stopped { .. } => self.over = true,
            }
        }
    }

    fn load_at(&self, at: usize) -> Option<u64> {
        self.loads.keys().nth(at).copied()
    }

    fn act(&mut self, rig: &mut Rig, act: Act, id: u64) {
        let name = |at: usize| MODELS.get(at).map_or("nope", |id| id.trim_start_matches('!'));
        match act {
            Act::Request(at, deadline) => {
                self.waiting.insert(id);
                let deadline = deadline.map(|ms| rig.now + Duration::from_millis(ms));
                rig.act(|fleet, now| fleet.request(RequestId(id), name(at), deadline, now)).unwrap();
            }
            Act::Done(at) => {
                let all: Vec<u64> = self.running.keys().chain(&self.waiting).copied().collect();
                let Some(&id) = all.get(at) else { return };
                self.running.remove(&id);
                self.waiting.remove(&id);
                rig.done(id);
            }
            Act::Ready(at) => {
                let Some(load) = self.load_at(at) else { return };
                if self.loads.insert(load, true) == Some(false) {
                    self.served = true;
                    rig.ready(load);
                }
            }
            Act::Gone(at, failed) => {
                let Some(load) = self.load_at(at) else { return };
                // A worker does not stop by itself; it fails, or was told to.
                let told = self.told_to_end.contains(&load);
                self.loads.remove(&load);
                self.running.retain(|_, of| *of != load);
                if told && !failed { rig.stopped(load) } else { rig.failed(load) }
            }
            Act::Load(at) => {
                self.asks.insert(id);
                rig.load(id, name(at));
            }
            Act::Unload(at) => {
                self.asks.insert(id);
                rig.unload(id, name(at));
            }
            Act::Pass(ms) => rig.pass(Duration::from_millis(ms)),
            Act::Timeout => {
                if let Some((at, _)) = rig.fleet.poll_timeout() {
                    rig.now = rig.now.max(at);
                    rig.act(Fleet::handle_timeout);
                    let again = rig.fleet.poll_timeout();
                    assert!(again.is_none_or(|(at, _)| at > rig.now), "a timeout that is due stays due");
                }
            }
            Act::Drain => {
                self.ending = true;
                rig.act(Fleet::drain);
            }
            Act::Stop => {
                self.ending = true;
                rig.act(Fleet::stop);
            }
        }
        self.take(rig);
    }
}

fn run(acts: &[Act], models: &[&str], config: Config) -> Vec<String> {
    let mut rig = Rig::new(config, models);
    let mut world = World::default();
    world.take(&mut rig);
    for (at, act) in acts.iter().enumerate() {
        world.act(&mut rig, *act, at as u64);
    }
    // Everything that is under way comes to its end; nobody is forgotten.
    for _ in 0..200 {
        let next = world.loads.iter().next().map(|(load, up)| (*load, *up));
        let told: Option<u64> = world.loads.keys().find(|load| world.told_to_end.contains(load)).copied();
        let ended = world.running.keys().next().copied();
        if let Some(load) = told {
            world.loads.remove(&load);
            world.running.retain(|_, of| *of != load);
            rig.stopped(load);
        } else if let Some((load, false)) =
            world.loads.iter().find(|(_, up)| !**up).map(|(l, u)| (*l, *u)).or(next)
        {
            world.loads.insert(load, true);
            rig.ready(load);
        } else if let Some(id) = ended {
            world.running.remove(&id);
            rig.done(id);
        } else {
            break;
        }
        world.take(&mut rig);
    }
    assert!(world.waiting.is_empty(), "requests wait for ever: {:?}", world.waiting);
    assert!(world.asks.is_empty(), "asks wait for ever: {:?}", world.asks);
    assert_eq!(world.over, world.ending && world.loads.is_empty());
    world.log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_forgotten_and_nothing_with_requests_is_ended(
        acts in prop::collection::vec(act(), 0..120),
        loaded_max in prop::option::of(1usize..4),
        idle in prop::option::of(1u64..60),
        waiting_max in 1usize..6,
        named in any::<bool>(),
    ) {
        let idle = idle.map(Duration::from_millis);
        let config = Config { idle, loaded_max, waiting_max, retry: Duration::from_millis(20) };
        let models = if named { &NAMED[..] } else { &MODELS };
        prop_assert_eq!(run(&acts, models, config), run(&acts, models, config));
    }
}
