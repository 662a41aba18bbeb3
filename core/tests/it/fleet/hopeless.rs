//! When there is nothing to serve and never was.

use super::*;

fn is_hopeless(rig: &mut Rig) -> bool {
    rig.take_events().contains(&Event::Hopeless)
}

#[test]
fn a_bad_model_that_is_loaded_on_use_never_makes_the_server_hopeless() {
    for models in [&["a"][..], &["a", "b"]] {
        let mut rig = Rig::new(Config::default(), models);
        for (load, model) in (1..).zip(models) {
            rig.request(load, model);
            rig.failed(load);
        }
        assert!(models.iter().all(|model| rig.standing(model) == Standing::Failed));
        assert!(!is_hopeless(&mut rig), "{models:?}");
    }
}

#[test]
fn a_bad_model_that_heals_is_served_after_all() {
    let mut rig = Rig::new(Config::default(), &["a"]);
    rig.request(1, "a");
    rig.failed(1);
    rig.pass(Config::default().retry);
    rig.request(2, "a");
    rig.ready(2);
    assert!(rig.take_events().ends_with(&[go(2, 2)]));
}

#[test]
fn named_models_that_all_fail_are_hopeless_once() {
    for models in [&["!a"][..], &["!a", "!b"]] {
        let mut rig = Rig::new(Config::default(), models);
        for load in 1..=models.len() as u64 {
            assert!(!is_hopeless(&mut rig), "{models:?} before load {load} has failed");
            rig.failed(load);
        }
        assert!(is_hopeless(&mut rig), "{models:?}");
        rig.load(1, "a");
        rig.failed(models.len() as u64 + 1);
        assert!(!is_hopeless(&mut rig), "it was told");
    }
}

#[test]
fn one_named_model_that_comes_up_is_enough_for_ever() {
    let mut rig = Rig::new(Config::default(), &["!a", "!b"]);
    rig.ready(2);
    rig.failed(1);
    rig.failed(2);
    assert!(!is_hopeless(&mut rig));
}

#[test]
fn beside_a_model_that_is_loaded_on_use_bad_named_ones_end_nothing() {
    let mut rig = Rig::new(Config::default(), &["!a", "b"]);
    rig.failed(1);
    assert!(!is_hopeless(&mut rig), "b may be good");
    rig.request(1, "b");
    rig.failed(2);
    assert!(!is_hopeless(&mut rig), "a request decided it");
}

#[test]
fn named_models_that_found_no_room_at_the_start_may_be_good_and_requests_for_them_end_nothing() {
    let mut rig = Rig::new(Config { loaded_max: Some(1), ..Config::default() }, &["!a", "!b"]);
    rig.request(1, "b");
    rig.failed(1);
    assert!(!is_hopeless(&mut rig));
    rig.failed(2);
    assert!(!is_hopeless(&mut rig), "a request decided it");
}

#[test]
fn a_load_of_the_start_that_somebody_gave_up_is_no_failure() {
    let mut rig = Rig::new(Config::default(), &["!a"]);
    rig.unload(1, "a");
    rig.stopped(1);
    rig.request(1, "a");
    rig.failed(2);
    assert!(!is_hopeless(&mut rig));
    let mut rig = Rig::new(Config::default(), &["!a"]);
    rig.act(Fleet::drain);
    rig.failed(1);
    assert_eq!(rig.take_events(), [Event::Stopped { cut: 0 }]);
}
