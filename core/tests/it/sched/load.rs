//! Short urgent requests that come at a rate beside long prompts, on a device where tokens take time
//! and a pass that is asked to yields at its next micro-batch.

use super::world::{Ending, World};
use super::{ENGINE, job, of_class, prompt};
use superfluid_core::sched::{Class, Config, Copying, Engine, Job, JobId, Token};
use superfluid_core::{Duration, Instant};

/// What a pass costs, and a token more.
const PASS: Duration = Duration::from_millis(10);
const TOKEN: Duration = Duration::from_millis(4);

const SLOW: Engine = Engine {
    lanes: 8,
    seqs: 10,
    seq_tokens: 50_000,
    pool_tokens: 500_000,
    step_tokens: 2048,
    micro_batch: 64,
    mixes: false,
    ..ENGINE
};

/// A world with jobs that come at their time.
struct Load {
    world: World,
    /// Latest first.
    coming: Vec<(Instant, Job)>,
    came: Vec<(JobId, Instant)>,
    /// Tokens that were computed and lost, and all that were computed.
    lost: u64,
    computed: u64,
    /// How long each job took.
    took: Vec<(JobId, Duration)>,
}

impl Load {
    fn new(engine: Engine, mut coming: Vec<(Instant, Job)>) -> Self {
        coming.sort_by_key(|(at, _)| *at);
        coming.reverse();
        let world = World::new(Config::new(engine));
        Self { world, coming, came: Vec::new(), lost: 0, computed: 0, took: Vec::new() }
    }

    /// Runs until all that came is done.
    fn play(mut self) -> Self {
        loop {
            if self.world.step.is_none() {
                let Some(&(at, _)) = self.coming.last() else { return self };
                self.world.now = self.world.now.max(at);
                self.arrive();
            }
            self.pass();
            self.settle();
        }
    }

    fn arrive(&mut self) {
        while self.coming.last().is_some_and(|(at, _)| *at <= self.world.now) {
            let (at, job) = self.coming.pop().expect("one");
            self.came.push((job.id, at));
            self.world.submit(job).expect("room");
        }
    }

    /// One step, with those who come meanwhile.
    fn pass(&mut self) {
        let start = self.world.now;
        let rows = &self.world.step.as_ref().expect("a step").rows;
        let tokens: u64 = rows.iter().map(|rows| rows.tokens.len() as u64).sum();
        let end = start + PASS + TOKEN * tokens as u32;
        while let Some(&(at, _)) = self.coming.last().filter(|(at, _)| *at < end) {
            self.world.now = at;
            self.arrive();
            if self.world.scheduler.wants_yield() {
                let ran = at.since(start).saturating_sub(PASS).as_nanos() / TOKEN.as_nanos();
                let whole = ran as usize / 64 * 64;
                self.computed += ran as u64;
                self.lost += ran as u64 - whole as u64;
                self.world.now = start;
                return self.world.give_up_after(whole, at.since(start));
            }
        }
        self.computed += tokens;
        self.world.now = start;
        self.world.complete(end.since(start), &|_| false);
    }

    fn settle(&mut self) {
        let now = self.world.now;
        self.came.retain(|&(id, at)| {
            let ended = matches!(self.world.entry(id).ending, Some(Ending::Finished(..)));
            if ended {
                self.took.push((id, now.since(at)));
            }
            !ended
        });
    }

    fn took(&self, id: u64) -> Duration {
        self.took.iter().find(|(job, _)| *job == JobId(id)).expect("it ended").1
    }

    /// At most a twentieth of what is run is thrown away, and a micro-batch.
    fn check_waste(&self) {
        assert!(self.lost * 20 <= self.computed + 20 * 64, "{} of {}", self.lost, self.computed);
    }
}

/// A prompt of its own, whatever follows it.
fn own(seed: u64, len: u32) -> Vec<Token> {
    (0..len).map(|at| (seed as u32 * 977 + at * (seed as u32 + 3)) % 501 + 31).collect()
}

/// A chat of 30 tokens each `every`, answered by one token.
fn chats(every: Duration, count: u64) -> impl Iterator<Item = (Instant, Job)> {
    (1..=count).map(move |n| {
        let chat = of_class(Class::Interactive, job(n, &own(n, 30), 1));
        (Instant::ORIGIN + every * n as u32, chat)
    })
}

/// 160 seconds of prompt beside a load of a few percent.
#[test]
fn a_light_stream_of_short_requests_does_not_starve_a_long_prompt() {
    for mixes in [false, true] {
        for seconds in [20, 4, 3, 2] {
            let agent = (Instant::ORIGIN, job(0, &own(0, 40_000), 1));
            let chats = chats(Duration::from_secs(seconds), 400 / seconds);
            let load = Load::new(Engine { mixes, ..SLOW }, chats.chain([agent]).collect()).play();
            load.check_waste();
            let share = 0.13 / seconds as f64;
            let alone = 160.0 * 1.1;
            let took = load.took(0).as_secs_f64();
            assert!(took < alone / (1.0 - share), "{took} s beside a chat each {seconds} s, mixes: {mixes}");
            let slow =
                load.took.iter().filter(|(id, _)| id.0 > 0).map(|(_, took)| *took).max().expect("chats");
            assert!(slow < Duration::from_millis(900), "a chat took {slow:?} each {seconds} s");
        }
    }
}

/// Urgent requests that alone are more than the device can do: whoever came before still gets on.
#[test]
fn a_flood_of_urgent_prompts_leaves_a_running_one_a_share() {
    for mixes in [false, true] {
        let agent = (Instant::ORIGIN, job(0, &own(0, 4_000), 1));
        let flood = (1..=900).map(|n| {
            let chat = of_class(Class::Interactive, job(n, &own(n, 200), 1));
            (Instant::ORIGIN + Duration::from_millis(700) * n as u32, chat)
        });
        let load = Load::new(Engine { mixes, ..SLOW }, flood.chain([agent]).collect()).play();
        load.check_waste();
        let took = load.took(0).as_secs_f64();
        assert!(took < 16.0 * 10.0, "{took} s, 16 alone");
    }
}

/// Who waits for what the pass in flight runs does not have it given up.
#[test]
fn a_pass_does_not_yield_to_a_job_that_waits_for_it() {
    for shared in [0, 5_000] {
        let engine = Engine { copying: Copying::Shares, ..SLOW };
        let mut world = World::new(Config::new(engine));
        let talk = prompt(0, 6_000, 1);
        world.submit(job(0, &talk, 1)).expect("room");
        let chat: Vec<Token> = talk[..shared].iter().copied().chain(own(1, 20)).collect();
        world.complete(PASS + TOKEN * 64, &|_| false);
        world.submit(of_class(Class::Interactive, job(1, &chat, 1))).expect("room");
        assert_eq!(world.scheduler.wants_yield(), shared == 0);
        world.run();
    }
}

/// Prompts of all classes at four fifths of what the device can do: each ends within a multiple of
/// what it takes alone, the less urgent the larger.
#[test]
fn every_prompt_ends_within_a_multiple_of_its_time_alone() {
    for (seed, mixes) in [(1, false), (2, true), (3, false), (4, true)] {
        let mut random = super::crowd::Random(seed);
        let mut at = Instant::ORIGIN;
        let coming: Vec<(Instant, Job)> = (0..600)
            .map(|id| {
                let class = Class::ALL[random.below(3) as usize];
                let len = match class {
                    Class::Interactive => 20 + random.below(60),
                    Class::Agent => 100 + random.below(1_000),
                    Class::Background => 500 + random.below(4_000),
                } as u32;
                at = at + Duration::from_millis(random.below(10_800));
                (at, of_class(class, job(id, &own(id, len), 1 + random.below(12) as u32)))
            })
            .collect();
        let jobs: Vec<Job> = coming.iter().map(|(_, job)| job.clone()).collect();
        let load = Load::new(Engine { mixes, ..SLOW }, coming).play();
        load.check_waste();
        let mut worst = [0.0f64; 3];
        for (id, took) in &load.took {
            let job = &jobs[id.0 as usize];
            let passes = load.world.entry_of(*id).tokens.len() as u32;
            let alone = (PASS + TOKEN) * passes + TOKEN * job.prompt.len() as u32;
            let times = took.as_secs_f64() / alone.as_secs_f64();
            worst[job.class as usize] = worst[job.class as usize].max(times);
        }
        println!("{seed} {worst:?} {} {}", load.lost, load.computed);
        assert!(worst[0] < 10.0 && worst[1] < 20.0 && worst[2] < 20.0, "{worst:?}");
    }
}
