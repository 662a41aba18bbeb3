//! Jobs whose workers die: what the client gets is what one worker would have said.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use superfluid_core::sched::Token;
use superfluid_core::supervise::Status;
use superfluid_core::wire::{Delivered, JobUpdate, TokenLogprob};

/// What a job says: so many tokens, each a function of its place and the job.
fn token(id: u64, at: usize) -> Token {
    (id as Token).wrapping_mul(31) ^ (at as Token)
}

fn length(id: u64) -> usize {
    3 + (id as usize * 7) % 11
}

fn text(id: u64, tokens: std::ops::Range<usize>) -> String {
    tokens.map(|at| format!("{},", token(id, at))).collect()
}

fn entry(id: u64, at: usize) -> TokenLogprob {
    TokenLogprob { bytes: vec![], logprob: -(token(id, at) as f32), top: vec![] }
}

fn entries(id: u64, tokens: std::ops::Range<usize>) -> Vec<TokenLogprob> {
    tokens.map(|at| entry(id, at)).collect()
}

/// The token after which the text of the last one comes out, as where a stop string may begin.
fn released(id: u64, tokens: usize) -> usize {
    if tokens == length(id) { tokens } else { tokens.saturating_sub(1) }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Submit,
    /// The worker's n-th job gets this many tokens.
    Step(usize, usize),
    Die,
    Restart,
    Cancel(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Submit),
        12 => (0usize..8, 1usize..4).prop_map(|(n, tokens)| Act::Step(n, tokens)),
        2 => Just(Act::Die),
        4 => Just(Act::Restart),
        1 => (1u64..20).prop_map(Act::Cancel),
    ]
}

/// A worker and its clients.
struct World {
    rig: Rig,
    /// What the worker has, with the tokens generated.
    running: BTreeMap<u64, usize>,
    submitted: u64,
    poison: BTreeSet<u64>,
    /// How often a worker died with the job.
    deaths: BTreeMap<u64, usize>,
    texts: BTreeMap<u64, String>,
    tokens: BTreeMap<u64, Vec<Token>>,
    logprobs: BTreeMap<u64, Vec<TokenLogprob>>,
    accepted: BTreeSet<u64>,
    ends: BTreeMap<u64, Result<Finish, String>>,
}

impl World {
    fn new() -> Self {
        let mut rig = Rig::new(Config { crashes_max: 10_000, ..Config::default() });
        rig.come_up();
        Self {
            rig,
            running: BTreeMap::new(),
            submitted: 0,
            poison: BTreeSet::new(),
            deaths: BTreeMap::new(),
            texts: BTreeMap::new(),
            tokens: BTreeMap::new(),
            logprobs: BTreeMap::new(),
            accepted: BTreeSet::new(),
            ends: BTreeMap::new(),
        }
    }

    /// Takes what came out, until nothing more comes.
    fn settle(&mut self) {
        loop {
            self.take_events();
            let sends = std::mem::take(&mut self.rig.sends);
            if sends.is_empty() {
                return;
            }
            for send in sends {
                match send {
                    ToWorker::Submit(submit) => self.take_job(&submit),
                    ToWorker::Cancel { id } if self.running.remove(&id.0).is_some() => {
                        let (finish, usage) = (Finish::Cancelled, Usage::default());
                        self.rig.frame(ToDaemon::Finished { id, finish, usage });
                    }
                    _ => {}
                }
            }
        }
    }

    fn take_job(&mut self, submit: &Submit) {
        let id = submit.id.0;
        let had = self.tokens.get(&id).cloned().unwrap_or_default();
        assert_eq!(submit.committed, had, "job {id} goes on after its last token");
        let delivered = Delivered {
            text: self.texts.get(&id).map_or(0, |text| text.len() as u64),
            logprobs: self.logprobs.get(&id).map_or(0, |told| told.len() as u64),
        };
        assert_eq!(submit.delivered, delivered);
        let held = entries(id, delivered.logprobs as usize..had.len());
        assert_eq!(submit.held, held, "what was held back of job {id} is known");
        assert!(self.running.insert(id, had.len()).is_none(), "job {id} was given twice");
        self.rig.frame(ToDaemon::Accepted { id: submit.id, prompt_tokens: 1 });
    }

    fn take_events(&mut self) {
        for event in self.rig.take_events() {
            match event {
                Event::Accepted { job, .. } => assert!(self.accepted.insert(job.0), "accepted twice"),
                Event::Update(update) => {
                    let id = update.id.0;
                    assert!(!self.ends.contains_key(&id), "job {id} went on after its end");
                    *self.texts.entry(id).or_default() += &update.text;
                    self.tokens.entry(id).or_default().extend(&update.tokens);
                    self.logprobs.entry(id).or_default().extend(update.logprobs);
                    assert_eq!(update.held, [], "only a successor needs them");
                }
                Event::Finished { job, finish, .. } => self.end(job.0, Ok(finish)),
                Event::Failed { job, refusal } => {
                    assert!(["worker_failed", "model_failed"].contains(&refusal.code.as_str()), "{refusal}");
                    self.end(job.0, Err(refusal.message));
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, id: u64, end: Result<Finish, String>) {
        assert!(self.ends.insert(id, end).is_none(), "job {id} ended twice");
    }

    fn submit(&mut self) {
        self.submitted += 1;
        self.rig.submit(self.submitted);
        self.settle();
    }

    /// The worker goes on with a job; one that is poison kills it.
    fn step(&mut self, id: u64, tokens: usize) {
        if self.poison.contains(&id) {
            return self.die();
        }
        let Some(from) = self.running.get(&id).copied() else { return };
        let to = (from + tokens).min(length(id));
        self.running.insert(id, to);
        let new = released(id, from)..released(id, to);
        let update = JobUpdate {
            id: JobId(id),
            tokens: (from..to).map(|at| token(id, at)).collect(),
            logprobs: entries(id, new.clone()),
            held: entries(id, new.end.max(from)..to),
            text: text(id, new),
        };
        self.rig.frame(ToDaemon::Updates { jobs: vec![update] });
        if to == length(id) {
            self.running.remove(&id);
            self.rig.frame(finished(id));
        }
        self.settle();
    }

    fn die(&mut self) {
        if self.rig.sup.status() != Status::Ready {
            return;
        }
        for id in std::mem::take(&mut self.running).into_keys() {
            *self.deaths.entry(id).or_default() += 1;
        }
        self.rig.exit(killed());
        self.settle();
    }

    fn restart(&mut self) {
        if self.rig.sup.status() == Status::Restarting {
            self.rig.pass_to_deadline();
            self.rig.come_up();
            self.settle();
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Submit => self.submit(),
            Act::Step(n, tokens) => {
                if let Some(id) = self.running.keys().nth(n).copied() {
                    self.step(id, tokens);
                }
            }
            Act::Die => self.die(),
            Act::Restart => self.restart(),
            Act::Cancel(id) => {
                self.rig.act(|sup, now| sup.cancel(JobId(id), now));
                self.settle();
            }
        }
    }

    /// Everything that is left runs to its end.
    fn run_out(&mut self) {
        self.restart();
        while self.rig.sup.jobs() > 0 {
            let ids: Vec<u64> = self.running.keys().copied().collect();
            assert!(!ids.is_empty() || self.rig.sup.status() == Status::Restarting, "a job is held for ever");
            for id in ids {
                self.step(id, 2);
            }
            self.restart();
        }
    }

    /// Each job ended once; what it said is what it would have said undisturbed, whole if it ended
    /// well, and each token's text and log probability were told once.
    fn check(&self) {
        assert_eq!(self.ends.len() as u64, self.submitted);
        for (&id, end) in &self.ends {
            let told = self.tokens.get(&id).cloned().unwrap_or_default();
            let whole: Vec<Token> = (0..length(id)).map(|at| token(id, at)).collect();
            assert!(whole.starts_with(&told), "job {id} was changed");
            let came = released(id, told.len());
            assert_eq!(self.texts.get(&id).cloned().unwrap_or_default(), text(id, 0..came));
            assert_eq!(self.logprobs.get(&id).cloned().unwrap_or_default(), entries(id, 0..came));
            match end {
                Ok(Finish::Cancelled) => {}
                Ok(_) => assert_eq!(told, whole, "job {id} is not whole"),
                Err(message) => {
                    assert!(message.contains("twice in a row"), "{message}");
                    assert!(self.deaths[&id] >= 2, "job {id} was failed too early");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deaths_at_any_point_change_nothing_that_is_told(acts in prop::collection::vec(act(), 0..160)) {
        let mut world = World::new();
        for act in acts {
            world.act(act);
        }
        world.run_out();
        world.check();
    }

    /// However the jobs are mixed: those that kill each worker are failed, the others are not.
    #[test]
    fn case_f04_poison_is_failed_at_its_second_death_and_the_others_go_on(
        poison in prop::collection::btree_set(1u64..30, 0..=4),
        acts in prop::collection::vec(act(), 0..160),
    ) {
        let mut world = World::new();
        world.poison = poison;
        for act in acts.into_iter().filter(|act| !matches!(act, Act::Die)) {
            world.act(act);
        }
        world.run_out();
        world.check();
        for (id, end) in &world.ends {
            if end.is_err() {
                prop_assert!(world.poison.contains(id), "job {id} is innocent");
                prop_assert_eq!(world.deaths[id], 2);
            }
        }
    }
}

#[test]
fn what_was_finished_but_not_yet_said_so_is_given_with_all_its_tokens() {
    let mut world = World::new();
    world.submit();
    let id = 1;
    let update = JobUpdate {
        id: JobId(id),
        tokens: (0..length(id)).map(|at| token(id, at)).collect(),
        text: text(id, 0..length(id)),
        logprobs: entries(id, 0..length(id)),
        held: vec![],
    };
    world.rig.frame(ToDaemon::Updates { jobs: vec![update] });
    world.settle();
    world.die();
    world.restart();
    assert_eq!(world.running[&id], length(id));
    world.rig.frame(finished(id));
    world.settle();
    assert_eq!(world.ends[&id], Ok(Finish::Stop));
}

#[test]
fn a_stream_that_two_workers_died_with_is_failed_unless_the_second_lasted() {
    for lasted in [false, true] {
        let mut world = World::new();
        world.submit();
        world.step(1, 1);
        world.die();
        world.restart();
        world.step(1, 1);
        if lasted {
            world.rig.now = world.rig.now + Config::default().stable;
        }
        world.die();
        world.restart();
        world.run_out();
        world.check();
        assert_eq!(world.ends[&1].is_ok(), lasted);
    }
}

/// Both lanes are taken by streams that have gone on, and a third waits to be tried.
fn full_with_one_to_try() -> World {
    let mut world = World::new();
    (0..3).for_each(|_| world.submit());
    world.die();
    world.restart();
    world.step(1, 1);
    world.step(2, 1);
    assert_eq!(world.running.keys().copied().collect::<Vec<_>>(), [1, 2]);
    world
}

#[test]
fn a_suspect_that_waits_for_a_lane_holds_no_new_request_up() {
    let mut world = full_with_one_to_try();
    world.submit();
    assert!(world.running.contains_key(&4), "a new one may go between two trials");
    world.submit();
    assert!(!world.running.contains_key(&5), "one, or the suspect would wait for ever");
    world.submitted += 1;
    let mut urgent = submit(world.submitted);
    urgent.class = Class::Interactive;
    world.rig.act(|sup, now| sup.submit(urgent, now)).unwrap();
    world.settle();
    assert!(world.running.contains_key(&6), "what is more urgent goes");
    // The suspect is tried as soon as a lane is free and all beside it have gone on.
    world.step(4, 99);
    world.step(6, 1);
    world.step(1, 99);
    assert!(!world.running.contains_key(&3));
    world.step(2, 99);
    assert!(world.running.contains_key(&3) && !world.running.contains_key(&5));
    world.poison.insert(3);
    world.step(3, 1);
    world.run_out();
    assert!(world.ends[&3].is_err(), "tried apart, it is known to be the cause");
    world.check();
}

#[test]
fn a_long_trial_holds_new_requests_up_for_no_longer_than_is_set() {
    let mut world = World::new();
    // Nothing else is waited for before the trial is over.
    world.rig = Rig::new(Config { ping_every: Duration::from_secs(60), ..Config::default() });
    world.rig.come_up();
    world.submit();
    world.die();
    world.submit();
    world.restart();
    assert_eq!(world.running.keys().copied().collect::<Vec<_>>(), [1], "alone at first");
    let until = world.rig.now + Config::default().trial;
    assert_eq!(world.rig.sup.poll_timeout(), Some((until, superfluid_core::supervise::Wake::Trial)));
    world.rig.pass_to_deadline();
    world.settle();
    assert!(world.running.contains_key(&2));
    world.step(2, 1);
    world.die();
    world.restart();
    world.run_out();
    world.check();
    assert!(world.ends[&1].is_err() && world.ends[&2].is_ok(), "two deaths in a row are two");
}

#[test]
fn when_no_more_restarts_are_left_every_job_learns_why() {
    let mut world = World::new();
    world.rig = Rig::new(Config { crashes_max: 1, ..Config::default() });
    world.rig.come_up();
    world.submit();
    world.die();
    world.submit();
    for _ in 0..2 {
        world.rig.pass_to_deadline();
        world.rig.spawned();
        world.rig.exit(killed());
    }
    world.settle();
    let messages: Vec<&String> = world.ends.values().filter_map(|end| end.as_ref().err()).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages.iter().all(|message| message.contains("SIGKILL")), "{messages:?}");
    world.submit();
    assert!(world.ends[&3].as_ref().is_err_and(|message| message.contains("SIGKILL")));
}
