//! Requests for models that are not loaded.

use super::*;
use superfluid_core::fleet::Wake;

#[test]
fn eight_first_requests_load_once_and_all_go() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    assert_eq!(rig.effects, []);
    (1..=8).for_each(|id| rig.request(id, "a"));
    assert_eq!(rig.take_effects(), [start(0, 1)]);
    assert_eq!((rig.take_events(), rig.fleet.waiting(ModelIx(0))), (vec![], 8));
    rig.ready(1);
    assert_eq!(rig.take_events(), (1..=8).map(|id| go(id, 1)).collect::<Vec<_>>());
    rig.request(9, "a");
    assert_eq!(rig.take_events(), [go(9, 1)]);
    assert_eq!(rig.take_effects(), []);
}

#[test]
fn eight_first_requests_all_get_the_load_s_error_and_a_later_one_tries_again() {
    let mut rig = Rig::new(Config::default(), &["a", "b"]);
    (1..=8).for_each(|id| rig.request(id, "a"));
    rig.failed(1);
    let refused = rig.refused();
    assert_eq!(refused.len(), 8);
    assert!(refused.iter().all(|(_, code)| code == "model_unavailable"), "{refused:?}");
    assert_eq!(rig.standing("a"), Standing::Failed);
    rig.request(9, "a");
    assert_eq!(rig.refused(), [(9, "model_unavailable".into())]);
    assert_eq!(rig.take_effects(), [start(0, 1)]);
    rig.pass(Config::default().retry);
    rig.request(10, "a");
    assert_eq!(rig.take_effects(), [start(0, 2)]);
    rig.ready(2);
    assert_eq!(rig.take_events(), [go(10, 2)]);
}

#[test]
fn what_a_runtime_never_can_is_told_as_it_is() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    rig.request(1, "a");
    let refusal = Refusal::new("unsupported_runtime", "no lossy encoding");
    rig.act(|fleet, now| fleet.handle_gone(Load(1), Gone::Failed { refusal }, now)).unwrap();
    assert_eq!(rig.refused(), [(1, "unsupported_runtime".into())]);
}

#[test]
fn an_unknown_model_is_refused_with_what_there_is() {
    let mut rig = Rig::new(Config::default(), &["a", "b"]);
    rig.request(1, "c");
    let [Event::Refused { refusal, .. }] = &rig.events[..] else { panic!("{:?}", rig.events) };
    assert_eq!(
        (refusal.code.as_str(), refusal.hints.as_slice()),
        ("model_not_found", &["served: 'a', 'b'".into()][..])
    );
}

#[test]
fn while_a_model_asked_for_at_the_start_loads_its_clients_are_told_to_come_back() {
    let mut rig = Rig::new(Config::default(), &["!a", "b"]);
    assert_eq!(rig.take_effects(), [start(0, 1)]);
    assert!(!rig.fleet.is_ready());
    rig.request(1, "a");
    assert_eq!(rig.refused(), [(1, "model_loading".into())]);
    rig.ready(1);
    assert!(rig.fleet.is_ready());
    rig.request(2, "a");
    assert_eq!(rig.take_events(), [go(2, 1)]);
}

#[test]
fn a_model_that_is_given_up_is_refused_until_it_is_loaded_again() {
    let mut rig = Rig::new(Config::default(), &["!a", "!b"]);
    rig.ready(1);
    rig.ready(2);
    rig.request(1, "a");
    rig.failed(1);
    rig.take_events();
    assert!(!rig.fleet.is_ready());
    rig.pass(Duration::from_secs(100_000));
    rig.request(2, "a");
    let [Event::Refused { refusal, .. }] = &rig.events[..] else { panic!("{:?}", rig.events) };
    assert_eq!(refusal.code, "model_failed");
    assert!(refusal.message.contains("it died"), "{refusal}");
    rig.take_events();
    // What ran is the dead worker's; its end counts for no other load.
    rig.done(1);
    rig.load(1, "a");
    rig.request(3, "a");
    rig.ready(3);
    assert_eq!(rig.take_events(), [answered(1), go(3, 3)]);
    assert!(rig.fleet.is_ready());
    rig.request(4, "b");
    assert_eq!(rig.take_events(), [go(4, 2)]);
}

#[test]
fn a_model_whose_file_went_away_is_tried_again_by_a_later_request() {
    let mut rig = Rig::new(Config::default(), &["!a"]);
    rig.ready(1);
    let refusal = Refusal::new("no_such_model", "a.gguf cannot be read");
    rig.act(|fleet, now| fleet.handle_gone(Load(1), Gone::Failed { refusal }, now)).unwrap();
    rig.request(1, "a");
    assert_eq!(rig.refused(), [(1, "model_unavailable".into())]);
    rig.pass(Config::default().retry);
    rig.take_effects();
    rig.request(2, "a");
    assert_eq!(rig.take_effects(), [start(0, 2)]);
}

#[test]
fn so_many_wait_and_no_more() {
    let mut rig = Rig::new(Config { waiting_max: 2, ..Config::default() }, &["a"]);
    (1..=3).for_each(|id| rig.request(id, "a"));
    assert_eq!(rig.refused(), [(3, "overloaded".into())]);
    rig.done(1);
    rig.request(4, "a");
    rig.ready(1);
    assert_eq!(rig.take_events(), [go(2, 1), go(4, 1)]);
}

#[test]
fn a_deadline_ends_the_wait() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    let deadline = Instant::from_millis(500);
    rig.act(|fleet, now| fleet.request(RequestId(1), "a", Some(deadline), now)).unwrap();
    rig.request(2, "a");
    assert_eq!(rig.fleet.poll_timeout(), Some((deadline, Wake::Deadline)));
    rig.pass(Duration::from_millis(500));
    assert_eq!(rig.refused(), [(1, "deadline_exceeded".into())]);
    assert_eq!(rig.fleet.poll_timeout(), None);
    rig.ready(1);
    assert_eq!(rig.take_events(), [go(2, 1)]);
}
