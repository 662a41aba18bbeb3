//! Time as a value.

use proptest::prelude::*;
use superfluid_core::time::Clock;
use superfluid_core::{Duration, Instant};

#[test]
fn an_instant_reads_as_time_since_the_origin() {
    assert_eq!(format!("{:?}", Instant::from_millis(1_500)), "t+1.5s");
    assert_eq!(Instant::from_millis(u64::MAX).as_nanos(), u64::MAX, "saturates instead of wrapping");
    assert_eq!(serde_json::to_string(&Instant::from_nanos(7)).unwrap(), "7");
}

proptest! {
    /// Whatever a driver's clock does, a machine's time never runs back, and never past what it was told.
    #[test]
    fn a_clock_that_jumps_back_is_held_at_the_latest(nows in prop::collection::vec(any::<u64>(), 1..50)) {
        let mut clock = Clock::default();
        let mut latest = 0;
        for now in nows {
            latest = latest.max(now);
            prop_assert_eq!(clock.advance(Instant::from_nanos(now)), Instant::from_nanos(latest));
            prop_assert_eq!(clock.now(), Instant::from_nanos(latest));
        }
    }

    #[test]
    fn sums_and_differences_saturate_and_agree(start: u64, step: u64) {
        let (start, step) = (Instant::from_nanos(start), Duration::from_nanos(step));
        let later = start + step;
        prop_assert!(later >= start);
        prop_assert!(later - start <= step);
        prop_assert_eq!(start - later, Duration::ZERO);
        if later < Instant::from_nanos(u64::MAX) {
            prop_assert_eq!(later - start, step);
        }
        prop_assert!(start + Duration::MAX == Instant::from_nanos(u64::MAX));
    }
}
