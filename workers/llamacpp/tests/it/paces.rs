//! How many threads compute where others use the processor too.

use std::time::Duration;
use superfluid_worker_llamacpp::Pace;

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn a_machine_of_its_own_keeps_every_thread() {
    let mut pace = Pace::new(4);
    for _ in 0..1000 {
        assert_eq!(pace.after(MS(20), MS(78)), None);
    }
    assert_eq!(pace.threads(), 4);
}

#[test]
fn as_many_threads_as_there_were_cores_to_have() {
    let mut pace = Pace::new(8);
    assert_eq!(pace.after(MS(500), MS(1600)), Some(3));
    assert_eq!(pace.after(MS(200), MS(600)), Some(4), "three had all they could use; a fourth is tried");
    assert_eq!(pace.after(MS(500), MS(400)), Some(1));
    assert_eq!(pace.after(MS(5000), MS(100)), Some(2), "one thread is never too many; another is tried");
}

#[test]
fn a_larger_crew_is_tried_again_ever_more_rarely() {
    let mut pace = Pace::new(2);
    let mut tries = Vec::new();
    let mut clock = 0;
    for _ in 0..6 {
        assert_eq!(pace.after(MS(300), MS(300)), Some(1));
        let began = clock;
        while pace.after(MS(100), MS(100)).is_none() {
            clock += 100;
        }
        tries.push(clock - began);
    }
    assert!(tries.is_sorted() && tries[5] > 8 * tries[0], "{tries:?}");
}

#[test]
fn a_machine_that_was_busy_for_a_while_is_used_in_full_soon_after() {
    let mut pace = Pace::new(2);
    for _ in 0..20 {
        assert_eq!(pace.after(MS(300), MS(300)), Some(1));
        while pace.after(MS(100), MS(100)).is_none() {}
    }
    // Quiet from here on: as long again as the longest wait, and all is forgotten.
    for _ in 0..640 {
        assert_eq!(pace.after(MS(100), MS(196)), None);
    }
    assert_eq!(pace.after(MS(300), MS(300)), Some(1));
    let mut waited = 0;
    while pace.after(MS(100), MS(100)).is_none() {
        waited += 100;
    }
    assert!(waited <= 500, "{waited} ms");
}

#[test]
fn short_passes_are_judged_together() {
    let mut pace = Pace::new(2);
    for _ in 0..29 {
        assert_eq!(pace.after(MS(10), MS(5)), None);
    }
    assert_eq!(pace.after(MS(10), MS(5)), Some(1));
}

#[test]
fn a_neighbour_that_comes_and_goes_changes_nothing() {
    let mut pace = Pace::new(2);
    for _ in 0..100 {
        assert_eq!(pace.after(MS(100), MS(134)), None);
        assert_eq!(pace.after(MS(100), MS(134)), None);
        assert_eq!(pace.after(MS(100), MS(190)), None);
    }
    assert_eq!(pace.threads(), 2);
}

#[test]
fn nothing_is_divided_by_nothing() {
    let mut pace = Pace::new(0);
    assert_eq!(pace.after(Duration::ZERO, Duration::ZERO), None);
    assert_eq!(pace.threads(), 1);
}
