//! Models that make room, because they are idle or for others.

use super::*;
use superfluid_core::fleet::Wake;

const IDLE: Duration = Duration::from_secs(60);

#[test]
fn a_model_with_nothing_to_do_is_unloaded() {
    let mut rig = Rig::new(Config { idle: Some(IDLE), ..Config::default() }, &["!a"]);
    rig.now = Instant::from_millis(5000);
    rig.ready(1);
    rig.request(1, "a");
    assert_eq!(rig.fleet.poll_timeout(), None);
    rig.pass(IDLE * 2);
    rig.done(1);
    rig.take_effects();
    assert_eq!(rig.fleet.poll_timeout(), Some((rig.now + IDLE, Wake::Idle)));
    rig.pass(IDLE - Duration::from_nanos(1));
    assert_eq!(rig.take_effects(), []);
    rig.pass(Duration::from_nanos(1));
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(1) }]);
    rig.stopped(1);
    assert_eq!(rig.standing("a"), Standing::Unloaded);
    assert!(rig.fleet.is_ready(), "it can be loaded");
    rig.request(2, "a");
    assert_eq!(rig.take_effects(), [start(0, 2)]);
}

fn pair() -> Rig {
    let mut rig = Rig::new(Config { loaded_max: Some(1), ..Config::default() }, &["!a", "b", "c"]);
    rig.ready(1);
    rig.take_effects();
    rig
}

#[test]
fn case_f06_another_model_waits_for_the_one_that_answers() {
    let mut rig = pair();
    rig.request(1, "a");
    rig.request(2, "b");
    assert_eq!((rig.take_effects(), rig.standing("b")), (vec![], Standing::Queued));
    // A newcomer does not keep the other waiting for ever.
    rig.request(3, "a");
    assert_eq!(rig.take_events(), [go(1, 1)]);
    rig.done(1);
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(1) }]);
    rig.stopped(1);
    assert_eq!(rig.take_effects(), [start(1, 2)]);
    rig.ready(2);
    assert_eq!((rig.take_events(), rig.take_effects()), (vec![go(2, 2)], vec![]));
    rig.done(2);
    rig.stopped(2);
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(2) }, start(0, 3)]);
    rig.ready(3);
    assert_eq!(rig.take_events(), [go(3, 3)]);
}

#[test]
fn who_was_not_used_for_longest_makes_room_but_not_while_it_runs() {
    let config = Config { loaded_max: Some(2), ..Config::default() };
    let mut rig = Rig::new(config, &["!a", "!b", "c"]);
    rig.ready(1);
    rig.ready(2);
    rig.now = Instant::from_millis(1);
    rig.request(1, "a");
    rig.now = Instant::from_millis(2);
    rig.request(2, "b");
    rig.done(2);
    rig.take_effects();
    rig.request(3, "c");
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(2) }], "a was used before b, and is busy");
}

#[test]
fn a_wish_given_up_takes_nobody_s_room() {
    let mut rig = pair();
    rig.request(1, "a");
    rig.request(2, "b");
    rig.request(3, "c");
    rig.done(3);
    assert_eq!(rig.standing("c"), Standing::Unloaded);
    rig.unload(1, "b");
    assert_eq!(rig.standing("b"), Standing::Unloaded);
    let refused = rig.take_events();
    assert!(refused.contains(&answered(1)), "{refused:?}");
}

#[test]
fn more_models_than_room_at_the_start_are_loaded_on_use() {
    let mut rig = Rig::new(Config { loaded_max: Some(1), ..Config::default() }, &["!a", "!b"]);
    assert_eq!(rig.take_effects(), [start(0, 1)]);
    rig.ready(1);
    assert!(rig.fleet.is_ready());
    rig.request(1, "b");
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(1) }]);
}
