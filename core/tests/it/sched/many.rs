//! Ten thousand jobs at once.

use super::world::World;
use super::{ENGINE, job, of_class};
use std::time::Duration;
use superfluid_core::sched::{Class, Config, Copying, Engine, RowResult, Scheduler, StepOutcome, Want};

/// Time this thread has had on a processor, which a busy machine does not make longer. Zero where the
/// system does not say.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// Submitting, cancelling and serving 10,000 queued jobs is far from quadratic: the bound is a
/// hundred times what it takes.
#[test]
fn ten_thousand_queued_jobs_stay_fast() {
    let engine = Engine { lanes: 64, seqs: 80, pool_tokens: 100_000, step_tokens: 512, ..ENGINE };
    let mut scheduler = Scheduler::new(Config { queue_per_class: 10_000, ..Config::new(engine) });
    let now = superfluid_core::Instant::ORIGIN;
    let began = worked();
    for id in 0..10_000_u64 {
        let prompt = [id as u32 % 50, id as u32 % 7, 3, 4, 5];
        let class = Class::ALL[(id % 3) as usize];
        scheduler.submit(of_class(class, job(id, &prompt, 3)), now).expect("room");
    }
    for id in (0..10_000).step_by(7) {
        assert!(scheduler.cancel(superfluid_core::sched::JobId(id), now));
    }
    let mut ended = 0;
    for _ in 0..10_000 {
        let Some(step) = scheduler.poll_step(now) else { break };
        let results = step.rows.iter().map(|rows| match rows.want {
            Want::Nothing => RowResult::Fed,
            Want::Token => RowResult::Token { token: 1, end: None },
        });
        let result = Ok(results.collect());
        let outcome = StepOutcome { id: step.id, elapsed: Duration::from_micros(50), result };
        scheduler.handle_outcome(outcome, now).expect("it fits");
        while let Some(event) = scheduler.poll_event() {
            ended += usize::from(matches!(event, superfluid_core::sched::Event::Finished { .. }));
        }
    }
    assert_eq!(ended, 10_000);
    let took = worked() - began;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Two hundred clients over a pool a tenth of what they want, in every shape of engine.
#[test]
fn a_crowd_over_a_small_pool_all_get_their_own_words() {
    for copying in [Copying::Never, Copying::Shares, Copying::Duplicates] {
        for mixes in [true, false] {
            let engine = Engine { pool_tokens: 300, lanes: 8, seqs: 12, copying, mixes, ..ENGINE };
            let mut world = World::new(Config::new(engine));
            for id in 0..200_u64 {
                let prompt: Vec<u32> = (0..10 + id % 30).map(|at| (id % 4 * 100 + at) as u32).collect();
                let class = Class::ALL[(id * id % 3) as usize];
                world.submit(of_class(class, job(id, &prompt, 40))).expect("room");
            }
            world.run();
        }
    }
}
