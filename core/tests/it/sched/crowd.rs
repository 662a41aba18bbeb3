//! Ten thousand clients: conversations that share system prompts, go on turn by turn, and leave in the
//! middle, on a device that runs out of room, loses states and dies.

use super::world::{Ending, World};
use superfluid_core::Duration;
use superfluid_core::sched::{
    Class, Config, Copying, Cut, Engine, Finish, Job, JobId, Keeping, StepFault, Token,
};
use superfluid_core::{Instant, Refusal};

const CLIENTS: usize = 10_000;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// Somebody with a conversation.
struct Client {
    class: Class,
    talk: Vec<Token>,
    turns: u64,
}

/// A job that runs, and since when somebody waits for it.
struct Request {
    client: usize,
    id: JobId,
    since: Instant,
}

struct Crowd {
    random: Random,
    config: Config,
    world: World,
    clients: Vec<Client>,
    requests: Vec<Request>,
    ids: u64,
    longest: Duration,
    deaths: usize,
    served: usize,
}

impl Crowd {
    fn new(seed: u64, cut: Cut, copying: Copying) -> Self {
        let keeping = Keeping {
            rest_tokens: (cut == Cut::HeadOnly).then_some(200),
            host_bytes: 6000,
            state_bytes: 20,
            token_bytes: 2,
            copy_tokens: 16,
        };
        let engine = Engine {
            lanes: 12,
            seqs: 16,
            seq_tokens: 200,
            pool_tokens: 1200,
            step_tokens: 96,
            cut,
            copying,
            mixes: seed.is_multiple_of(2),
            neighbours: false,
            micro_batch: 16,
            keeping,
        };
        let config = Config {
            share_from: 24,
            save_from: 8,
            keep_from: 24,
            class_lanes: [12, 12, 6],
            age_after: Duration::from_millis(4),
            gap: Duration::from_micros(60),
            pass: Duration::from_micros(100),
            ..Config::new(engine)
        };
        Self {
            random: Random(seed),
            config,
            world: World::new(config),
            clients: Vec::new(),
            requests: Vec::new(),
            ids: 0,
            longest: Duration::ZERO,
            deaths: 0,
            served: 0,
        }
    }

    /// Plays until everybody came and has gone.
    fn play(&mut self) {
        while self.clients.len() < CLIENTS || !self.requests.is_empty() {
            // As many arrive as keep the lanes busy and a queue waiting, now and then in a flood.
            let wanted = if self.random.one_in(64) { 120 } else { 30 };
            while self.requests.len() < wanted && self.clients.len() < CLIENTS && !self.random.one_in(3) {
                self.arrive();
            }
            self.happen();
            self.settle();
        }
        self.world.run();
        assert!(self.world.scheduler.is_idle());
        assert_eq!(Class::ALL.map(|class| self.world.scheduler.running(class)), [0; 3]);
    }

    fn arrive(&mut self) {
        let class = Class::ALL[self.random.below(3) as usize];
        // One of forty system prompts, one of them far more often than the others, and an own start.
        let system = if self.random.one_in(2) { 0 } else { self.random.below(40) as Token };
        let len = 10 + u64::from(system) % 30;
        let mut talk: Vec<Token> = (0..len).map(|at| (system * 3 + at as Token * at as Token) % 31).collect();
        talk.extend((0..self.random.below(30)).map(|_| self.random.0 as Token % 31));
        talk.push(self.clients.len() as Token % 31);
        self.clients.push(Client { class, talk, turns: self.random.below(3) });
        self.ask(self.clients.len() - 1, 0, self.world.now);
    }

    fn ask(&mut self, client: usize, committed: u32, since: Instant) {
        let id = JobId(self.ids);
        self.ids += 1;
        let Client { class, talk, .. } = &self.clients[client];
        let max_tokens = committed + 1 + self.random.below(24) as u32;
        let job = Job { id, class: *class, prompt: talk.clone(), committed, max_tokens };
        match self.world.submit(job) {
            Ok(()) => {
                self.requests.push(Request { client, id, since });
                if self.world.scheduler.wants_yield() {
                    let fed = self.random.below(32) as usize;
                    self.world.give_up(fed);
                }
            }
            Err(refusal) => assert_eq!(refusal.code, "context_length_exceeded"),
        }
    }

    /// One thing of the world's.
    fn happen(&mut self) {
        if self.world.step.is_none() {
            return;
        }
        match self.random.below(2000) {
            // A step whose states were lost is told of those.
            0 if self.world.engine.lost.is_empty() => {
                let refusal = Refusal::new("device_lost", "the device is gone");
                self.world.fail(StepFault::Fatal { refusal });
                self.world.succeed(self.config);
                self.deaths += 1;
            }
            1..=12 => self.world.fail(StepFault::Capacity),
            13..=40 => {
                let fed = self.random.below(32) as usize;
                self.world.give_up(fed);
            }
            41..=80 => self.world.engine.loses += 1,
            81..=180 if !self.requests.is_empty() => {
                let at = self.random.below(self.requests.len() as u64) as usize;
                self.world.cancel(self.requests[at].id);
            }
            181..=190 => self.world.complete(Duration::from_micros(40), &|at| at == 0),
            _ => self.world.tick(),
        }
    }

    /// What became of requests: most clients go on where they are, and those whose worker died come
    /// back with what they have.
    fn settle(&mut self) {
        let mut at = 0;
        while at < self.requests.len() {
            let entry = self.world.entry(self.requests[at].id);
            let Some(ending) = entry.ending.clone() else {
                at += 1;
                continue;
            };
            let said = entry.tokens.clone();
            let Request { client, since, .. } = self.requests.swap_remove(at);
            self.clients[client].talk.extend(&said);
            match ending {
                Ending::Finished(Finish::Cancelled, _) => {}
                Ending::Finished(..) => {
                    self.served += 1;
                    self.longest = self.longest.max(self.world.now.since(since));
                    if self.clients[client].turns > 0 {
                        self.clients[client].turns -= 1;
                        let more = 1 + self.random.below(12);
                        let own = (0..more).map(|_| self.random.next() as Token % 31);
                        let own: Vec<Token> = own.collect();
                        self.clients[client].talk.extend(own);
                        self.ask(client, 0, self.world.now);
                    }
                }
                Ending::Failed(refusal) if refusal.code == "device_lost" => {
                    self.ask(client, said.len() as u32, since);
                }
                Ending::Failed(refusal) => {
                    assert!(["row_fault", "out_of_memory"].contains(&&*refusal.code), "{refusal}");
                }
            }
        }
    }
}

/// FNV-1a of a log: to compare two without keeping both.
fn digest(log: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    log.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn play(seed: u64, cut: Cut, copying: Copying) -> (u64, usize) {
    let mut crowd = Crowd::new(seed, cut, copying);
    crowd.play();
    assert!(crowd.deaths > 3, "{} deaths", crowd.deaths);
    assert!(crowd.served > CLIENTS, "{} replies", crowd.served);
    assert!(crowd.world.imported() > 10_000, "{} tokens came back", crowd.world.imported());
    // Aging bounds every wait: a request is behind those of its time, whatever else comes.
    assert!(crowd.longest < Duration::from_millis(200), "{:?}", crowd.longest);
    (digest(&crowd.world.log), crowd.world.log.len())
}

#[test]
fn ten_thousand_clients_get_their_own_words() {
    play(1, Cut::Anywhere, Copying::Duplicates);
}

#[test]
fn ten_thousand_clients_of_a_model_that_cannot_cut_get_their_own_words() {
    play(2, Cut::HeadOnly, Copying::Shares);
}

#[test]
fn the_same_seed_twice_gives_the_same_log() {
    let twice = [3, 3].map(|seed| play(seed, Cut::Anywhere, Copying::Never));
    assert_eq!(twice[0], twice[1]);
}
