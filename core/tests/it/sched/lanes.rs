//! `--class-lanes`.

use superfluid_core::sched::{Class, parse_class_lanes};

#[test]
fn classes_come_in_any_order_and_those_not_named_have_all_lanes() {
    assert_eq!(parse_class_lanes("interactive=4,agent=6,background=2"), Ok([4, 6, 2]));
    assert_eq!(parse_class_lanes(" background = 1 , agent=3"), Ok([u32::MAX, 3, 1]));
    assert_eq!(Class::ALL.map(|class| Class::named(class.as_str())), Class::ALL.map(Some));
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, named) in [
        ("", "\"\""),
        ("interactive=4,", "\"\""),
        ("interactive", "interactive"),
        ("Interactive=4", "Interactive"),
        ("agent=0", "agent=0"),
        ("agent=+1", "agent=+1"),
        ("agent=4294967296", "agent=4294967296"),
        ("agent=-1", "agent=-1"),
        ("agent=1,agent=1", "second time"),
    ] {
        let refusal = parse_class_lanes(text).unwrap_err();
        assert_eq!(refusal.code, "bad_class_lanes");
        assert!(refusal.message.contains(named) && refusal.hints.len() == 1, "{text:?}: {refusal}");
    }
}
