//! The law of use: an effect is answered once, with what fits it; anything else is a typed misuse
//! that changes nothing.

use proptest::prelude::*;
use superfluid_core::install::InstallName;
use superfluid_core::install::machine::{Action, Listing, Machine, Outcome};
use superfluid_core::machine::EffectId;
use superfluid_core::sched::{
    Class, Config, Copying, Cut, Engine, Job, JobId, RowResult, Scheduler, StepId, StepOutcome,
};
use superfluid_core::{Duration, Instant, Misuse};

const NOW: Instant = Instant::ORIGIN;

fn scheduler() -> Scheduler {
    let engine = Engine {
        lanes: 2,
        seqs: 4,
        seq_tokens: 64,
        pool_tokens: 256,
        step_tokens: 32,
        cut: Cut::Anywhere,
        copying: Copying::Never,
        mixes: true,
        neighbours: false,
        micro_batch: u32::MAX,
        keeping: Default::default(),
    };
    Scheduler::new(Config::new(engine))
}

fn job(id: u64) -> Job {
    Job { id: JobId(id), class: Class::Agent, prompt: vec![1, 2, 3], committed: 0, max_tokens: 4 }
}

#[test]
fn effect_ids_start_at_one_and_grow() {
    let mut ids = EffectId::default();
    assert_eq!([ids.take_next(), ids.take_next(), ids.take_next()], [EffectId(1), EffectId(2), EffectId(3)]);
}

#[test]
fn misuse_reads_as_a_sentence() {
    assert_eq!(Misuse::UnknownEffect(7).to_string(), "no effect 7 is in flight");
    assert_eq!(Misuse::WrongOutcome(7).to_string(), "the outcome does not fit effect 7");
    assert_eq!(Misuse::DuplicateId(7).to_string(), "id 7 is in use");
}

proptest! {
    /// A scheduler told of steps it never took, or of too many or too few rows, goes on as if
    /// nobody had spoken.
    #[test]
    fn a_scheduler_ignores_outcomes_of_no_step(ids in prop::collection::vec(0_u64..9, 0..9), rows in 2_usize..5) {
        let (mut told, mut untold) = (scheduler(), scheduler());
        for machine in [&mut told, &mut untold] {
            machine.submit(job(1), NOW).unwrap();
        }
        let (step, other) = (told.poll_step(NOW).unwrap(), untold.poll_step(NOW).unwrap());
        for id in ids.into_iter().map(StepId).filter(|id| *id != step.id) {
            let outcome = StepOutcome { id, elapsed: Duration::ZERO, result: Ok(vec![RowResult::Fed]) };
            prop_assert_eq!(told.handle_outcome(outcome, NOW), Err(Misuse::UnknownEffect(id.0)));
        }
        let wrong = StepOutcome { id: step.id, elapsed: Duration::ZERO, result: Ok(vec![RowResult::Fed; rows]) };
        prop_assert_eq!(told.handle_outcome(wrong, NOW), Err(Misuse::WrongOutcome(step.id.0)));
        prop_assert_eq!(&step, &other);
        let outcome = StepOutcome {
            id: step.id,
            elapsed: Duration::from_millis(1),
            result: Ok(vec![RowResult::Token { token: 5, end: None }]),
        };
        for machine in [&mut told, &mut untold] {
            machine.handle_outcome(outcome.clone(), NOW).unwrap();
        }
        prop_assert_eq!(told.handle_outcome(outcome, NOW), Err(Misuse::UnknownEffect(step.id.0)), "answered twice");
        let drain = |machine: &mut Scheduler| {
            let step = machine.poll_step(NOW);
            (step, std::iter::from_fn(|| machine.poll_event()).collect::<Vec<_>>())
        };
        prop_assert_eq!(drain(&mut told), drain(&mut untold));
        told.check_invariants().unwrap();
    }

    /// An install machine answered for effects it never asked, or with an answer of another kind.
    #[test]
    fn an_install_machine_ignores_answers_to_nothing(ids in prop::collection::vec(0_u64..99, 0..9)) {
        let mut machine = Machine::pin(InstallName::new("b1-cpu").unwrap());
        let effect = machine.poll_effect().unwrap();
        let locks = matches!(effect.action, Action::Lock { .. });
        prop_assert!(locks);
        for id in ids.into_iter().map(EffectId).filter(|id| *id != effect.id) {
            prop_assert_eq!(machine.handle_done(id, Outcome::Done, NOW), Err(Misuse::UnknownEffect(id.0)));
        }
        let listing = Outcome::Listing(Listing::default());
        prop_assert_eq!(machine.handle_done(effect.id, listing, NOW), Err(Misuse::WrongOutcome(effect.id.0)));
        prop_assert!(machine.poll_effect().is_none(), "one effect is in flight at a time");
        machine.handle_done(effect.id, Outcome::Locked, NOW).unwrap();
        prop_assert!(machine.poll_effect().is_some());
        machine.check_invariants().unwrap();
    }
}
