//! Lengths of slices and leads.

use brunt_slices::length::{Lengths, Pace, lengths};
use proptest::prelude::*;
use std::time::Duration;

fn of(rate: f64, p50_us: u64, connections: u64) -> (u128, u128) {
    let pace = Pace { rate, p50: Duration::from_micros(p50_us) };
    let Lengths { window, lead } = lengths(Duration::from_millis(100), connections, &[pace]);
    (window.as_millis(), lead.as_millis())
}

#[test]
fn slices_are_longer_where_replies_are_few_and_the_lead_answers_every_connection() {
    assert_eq!(of(100_000.0, 800, 80), (100, 10));
    assert_eq!(of(100_000.0, 10_000, 1000), (100, 25));
    assert_eq!(of(4_000.0, 250, 1), (250, 10));
    assert_eq!(of(8_000.0, 9_000, 80), (150, 27));
    assert_eq!(of(10.0, 100_000, 1), (1000, 250));
    assert_eq!(of(0.0, 0, 8), (1000, 250));
}

proptest! {
    #[test]
    fn no_pace_gives_a_slice_that_is_too_long_or_only_lead(rate in 0.0f64..1e7, p50 in 0u64..10_000_000, n in 1u64..10_000) {
        let (window, lead) = of(rate, p50, n);
        prop_assert!((100..=1000).contains(&window) && lead * 4 <= window && lead >= 10);
    }
}
