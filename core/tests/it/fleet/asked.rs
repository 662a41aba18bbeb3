//! What operators ask for: load, unload, drain, stop.

use super::*;

#[test]
fn unloading_waits_for_running_requests_and_the_next_request_loads_again() {
    let mut rig = Rig::new(Config::default(), &["!a"]);
    rig.ready(1);
    rig.request(1, "a");
    rig.unload(1, "a");
    rig.take_effects();
    assert_eq!((rig.take_events(), rig.standing("a")), (vec![go(1, 1)], Standing::Unloading));
    rig.request(2, "a");
    assert_eq!((rig.take_events(), rig.take_effects()), (vec![], vec![]));
    rig.done(1);
    assert_eq!(rig.take_effects(), [Effect::Drain { load: Load(1) }]);
    rig.stopped(1);
    assert_eq!((rig.take_events(), rig.take_effects()), (vec![answered(1)], vec![start(0, 2)]));
    rig.ready(2);
    assert_eq!(rig.take_events(), [go(2, 2)]);
}

#[test]
fn an_unloaded_model_stays_so_until_somebody_wants_it() {
    let mut rig = Rig::new(Config::default(), &["!a"]);
    rig.ready(1);
    rig.unload(1, "a");
    rig.stopped(1);
    assert_eq!((rig.take_events(), rig.standing("a")), (vec![answered(1)], Standing::Unloaded));
    rig.unload(2, "a");
    assert_eq!(rig.take_events(), [answered(2)]);
    rig.take_effects();
    rig.load(3, "a");
    assert_eq!(rig.take_effects(), [start(0, 2)]);
    rig.ready(2);
    rig.load(4, "a");
    assert_eq!(rig.take_events(), [answered(3), answered(4)]);
}

#[test]
fn unloading_gives_up_a_load_and_tells_who_waited() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    rig.request(1, "a");
    rig.unload(1, "a");
    assert_eq!(rig.refused(), [(1, "cancelled".into())]);
    assert_eq!(rig.take_effects(), [start(0, 1), Effect::Stop { load: Load(1) }]);
    // It was faster than the word.
    rig.ready(1);
    rig.stopped(1);
    assert_eq!(rig.take_events(), [answered(1)]);
}

#[test]
fn a_load_that_fails_is_the_asker_s_answer() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    rig.load(1, "a");
    rig.load(2, "nope");
    rig.failed(1);
    let codes = rig.take_events().into_iter().map(|event| match event {
        Event::Answered { ask, refusal } => (ask.0, refusal.unwrap().code),
        other => panic!("{other:?}"),
    });
    assert_eq!(codes.collect::<Vec<_>>(), [(2, "model_not_found".into()), (1, "model_unavailable".into())]);
}

#[test]
fn a_drain_ends_all_and_a_stop_ends_them_now() {
    let mut rig = Rig::new(Config::default(), &["!a", "!b", "c", "d"]);
    rig.ready(1);
    rig.request(1, "a");
    rig.request(2, "c");
    rig.take_effects();
    rig.take_events();
    rig.act(Fleet::drain);
    assert_eq!(rig.refused(), [(2, "shutting_down".into())]);
    assert_eq!(rig.take_effects(), [1, 2, 3].map(|load| Effect::Drain { load: Load(load) }));
    rig.request(3, "a");
    rig.load(1, "d");
    assert!(matches!(
        &rig.take_events()[..],
        [Event::Refused { .. }, Event::Answered { refusal: Some(_), .. }]
    ));
    rig.stopped(3);
    rig.act(Fleet::stop);
    assert_eq!(rig.take_effects(), [1, 2].map(|load| Effect::Stop { load: Load(load) }));
    rig.failed(1);
    assert_eq!(rig.take_events(), []);
    rig.stopped(2);
    assert_eq!(rig.take_events(), [Event::Stopped { cut: 0 }]);
}

#[test]
fn what_every_load_s_end_cut_is_added_up() {
    let mut rig = Rig::new(Config::default(), &["!a", "!b"]);
    [1, 2].into_iter().for_each(|load| rig.ready(load));
    rig.act(Fleet::drain);
    for (load, cut) in [(1, 2), (2, 1)] {
        rig.act(|fleet, now| fleet.handle_gone(Load(load), Gone::Stopped { cut }, now)).unwrap();
    }
    assert_eq!(rig.take_events(), [Event::Stopped { cut: 3 }]);
}

#[test]
fn a_drain_with_nothing_loaded_is_over_at_once() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    rig.act(Fleet::drain);
    assert_eq!(rig.take_events(), [Event::Stopped { cut: 0 }]);
    rig.act(Fleet::stop);
    assert_eq!(rig.take_events(), []);
}
