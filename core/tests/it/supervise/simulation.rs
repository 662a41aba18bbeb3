//! Random lives: a worker that answers, dies, lies or stays silent at any point, clients that come
//! and go. Every job ends exactly once, and the same inputs give the same outputs.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use superfluid_core::supervise::Status;
use superfluid_core::wire::{JobUpdate, Stats};

#[derive(Clone, Copy, Debug)]
enum Act {
    Submit,
    Cancel(u64),
    Due(u64, u64),
    Spawned(bool),
    Hello(u32),
    Progress,
    Loaded,
    Update(u64, usize),
    Finished(u64),
    Failed(u64),
    Pong,
    Stats,
    Fatal,
    LoadFailed(bool),
    Junk,
    Exit(i32),
    Late,
    Pass(u64),
    Deadline,
    Drain,
    Stop,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => Just(Act::Submit),
        3 => (1u64..40).prop_map(Act::Cancel),
        3 => (1u64..40, 0u64..20_000).prop_map(|(id, ms)| Act::Due(id, ms)),
        8 => prop::bool::weighted(0.9).prop_map(Act::Spawned),
        6 => prop_oneof![9 => Just(PROTOCOL), 1 => Just(7)].prop_map(Act::Hello),
        2 => Just(Act::Progress),
        6 => Just(Act::Loaded),
        6 => (1u64..40, 0usize..9).prop_map(|(id, n)| Act::Update(id, n)),
        6 => (1u64..40).prop_map(Act::Finished),
        2 => (1u64..40).prop_map(Act::Failed),
        2 => Just(Act::Pong),
        2 => Just(Act::Stats),
        1 => Just(Act::Fatal),
        1 => any::<bool>().prop_map(Act::LoadFailed),
        1 => Just(Act::Junk),
        4 => (0i32..12).prop_map(Act::Exit),
        2 => Just(Act::Late),
        3 => (0u64..20_000).prop_map(Act::Pass),
        6 => Just(Act::Deadline),
        1 => prop::bool::weighted(0.1).prop_map(|on| if on { Act::Drain } else { Act::Deadline }),
        1 => prop::bool::weighted(0.1).prop_map(|on| if on { Act::Stop } else { Act::Deadline }),
    ]
}

/// What the driver's side of the world knows.
#[derive(Default)]
struct World {
    spawning: Option<Life>,
    alive: Option<Life>,
    submitted: u64,
    ended: BTreeMap<u64, usize>,
    log: Vec<String>,
}

impl World {
    fn take(&mut self, rig: &mut Rig) {
        for effect in rig.effects.drain(..) {
            if let Effect::Spawn { life } = effect {
                assert!(self.spawning.is_none() && self.alive.is_none(), "one process at a time");
                self.spawning = Some(life);
            }
            self.log.push(format!("{effect:?}"));
        }
        for event in rig.events.drain(..) {
            let over = match &event {
                Event::Finished { job, .. } | Event::Failed { job, .. } => Some(job.0),
                Event::Update(update) => {
                    assert!(!self.ended.contains_key(&update.id.0), "text after the end");
                    None
                }
                _ => None,
            };
            if let Some(id) = over {
                *self.ended.entry(id).or_default() += 1;
            }
            self.log.push(format!("{event:?}"));
        }
        rig.sends.clear();
    }

    fn step(&mut self, rig: &mut Rig, act: Act) {
        let life = rig.life();
        match act {
            Act::Submit => {
                self.submitted += 1;
                rig.submit(self.submitted);
            }
            Act::Cancel(id) => rig.act(|sup, now| sup.cancel(JobId(id), now)),
            Act::Due(id, ms) => {
                let by = rig.now + Duration::from_millis(ms);
                rig.act(|sup, now| sup.set_deadline(JobId(id), by, now));
            }
            Act::Spawned(good) => {
                let Some(life) = self.spawning.take() else { return };
                let result = if good { Ok(()) } else { Err(superfluid_core::Refusal::new("spawn", "no")) };
                self.alive = good.then_some(life);
                rig.act(|sup, now| sup.handle_spawned(life, result, now)).unwrap();
            }
            Act::Exit(code) => {
                let Some(life) = self.alive.take() else { return };
                let status = ExitStatus::Code { code };
                rig.act(|sup, now| sup.handle_exit(life, Exit { status, stderr: vec![] }, now)).unwrap();
            }
            Act::Late => {
                let late = Life(life.0.wrapping_sub(1));
                rig.act(|sup, now| sup.handle_frame(late, hello(), now));
                rig.act(|sup, now| sup.handle_link_error(late, "late", now));
                rig.act(|sup, now| sup.handle_exit(late, killed(), now)).unwrap_err();
            }
            Act::Pass(ms) => rig.pass(Duration::from_millis(ms)),
            Act::Deadline => {
                if rig.sup.poll_timeout().is_some() {
                    rig.pass_to_deadline();
                }
            }
            Act::Drain => rig.act(Supervisor::drain),
            Act::Stop => rig.act(Supervisor::stop),
            Act::Junk if self.alive.is_some() => rig.act(|sup, now| sup.handle_link_error(life, "junk", now)),
            said => {
                if let (Some(frame), true) = (frame(said), self.alive.is_some()) {
                    rig.frame(frame);
                }
            }
        }
    }
}

fn frame(act: Act) -> Option<ToDaemon> {
    Some(match act {
        Act::Hello(protocol) => ToDaemon::Hello { protocol, runtime: "mock".into(), version: "0".into() },
        Act::Progress => ToDaemon::Progress { permille: 1 },
        Act::Loaded => ToDaemon::Loaded(loaded()),
        Act::Update(id, n) => {
            let update = JobUpdate {
                id: JobId(id),
                tokens: vec![1; n],
                text: "x".into(),
                logprobs: vec![],
                held: vec![],
            };
            ToDaemon::Updates { jobs: vec![update] }
        }
        Act::Finished(id) => finished(id),
        Act::Failed(id) => {
            ToDaemon::Failed { id: JobId(id), refusal: superfluid_core::Refusal::new("x", "y") }
        }
        Act::Pong => ToDaemon::Pong { n: 1, stats: Stats::default() },
        Act::Stats => {
            let most = u32::MAX;
            let stats =
                Stats { running: most, waiting: most, cells: most, queued: [most; 3], ..Stats::default() };
            let [reused, prefilled] = [[u64::MAX; 3]; 2];
            ToDaemon::Stats(Stats { steps: 1, preempted: u64::MAX, reused, prefilled, ..stats })
        }
        Act::Fatal => ToDaemon::Fatal(superfluid_core::Refusal::new("x", "y")),
        Act::LoadFailed(permanent) => {
            let code = if permanent { "no_such_model" } else { "not_enough_memory" };
            ToDaemon::LoadFailed(superfluid_core::Refusal::new(code, "y"))
        }
        _ => return None,
    })
}

fn run(acts: Vec<Act>) -> Vec<String> {
    let mut rig = Rig::new(Config { jobs_max: 8, crashes_max: 3, ..Config::default() });
    let mut world = World::default();
    world.take(&mut rig);
    for act in acts {
        world.step(&mut rig, act);
        world.take(&mut rig);
        let open = world.submitted as usize - world.ended.len();
        assert_eq!(open, rig.sup.jobs(), "the registry holds what has not ended");
        let stats = rig.sup.stats();
        assert!(stats.running.checked_add(stats.waiting).is_some(), "{stats:?}");
        assert!(rig.sup.totals().restarts < rig.sup.lives().max(1));
    }
    // Whatever happened, stopping ends everything.
    rig.act(Supervisor::stop);
    world.take(&mut rig);
    for last in [Act::Spawned(true), Act::Exit(0)] {
        world.step(&mut rig, last);
        world.take(&mut rig);
    }
    assert!(matches!(rig.sup.status(), Status::Stopped | Status::Failed));
    assert!(world.alive.is_none() && world.spawning.is_none());
    assert!(world.ended.values().all(|times| *times == 1), "answered twice: {:?}", world.ended);
    assert_eq!(world.ended.len() as u64, world.submitted, "every job ended");
    world.log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_job_is_lost_or_answered_twice(acts in prop::collection::vec(act(), 0..120)) {
        let log = run(acts.clone());
        prop_assert_eq!(log, run(acts), "the same inputs give the same outputs");
    }
}
