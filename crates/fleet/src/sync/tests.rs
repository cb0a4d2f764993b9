//! Estimates against two clocks whose true offset is known.

use super::*;
use proptest::prelude::*;

/// A clock that runs too fast by so many parts in 10^9.
#[derive(Debug, Clone, Copy)]
struct Given {
    offset: i64,
    ppb: i64,
}

impl Given {
    fn at(&self, truth: i64) -> i64 {
        let gained = (i128::from(truth) * i128::from(self.ppb)).div_euclid(i128::from(SECOND_NS));
        self.offset + truth + gained as i64
    }
}

/// Pause before it, delays there and back, time held, and whether the answer was lost.
type Trip = (i64, i64, i64, i64, bool);

fn exchanges(agent: Given, coordinator: Given, trips: &[Trip]) -> (Vec<Exchange>, i64) {
    let mut now = 0;
    let mut all = Vec::new();
    for (pause, there, held, back, lost) in trips.iter().copied() {
        let sent = now + pause;
        let (received, answered) = (sent + there, sent + there + held);
        now = answered + back;
        let exchange = Exchange {
            sent: coordinator.at(sent),
            received: agent.at(received),
            answered: agent.at(answered),
            returned: coordinator.at(now),
        };
        all.extend((!lost).then_some(exchange));
    }
    (all, now)
}

fn clock() -> impl Strategy<Value = Given> {
    (-1_000 * SECOND_NS..1_000 * SECOND_NS, -50_000..=50_000i64).prop_map(|(offset, ppb)| Given { offset, ppb })
}

fn trip() -> impl Strategy<Value = Trip> {
    let delay = || prop_oneof![Just(0), 0..200_000i64, 0..50_000_000i64];
    (0..2 * SECOND_NS, delay(), prop_oneof![Just(0), 0..1_000_000i64, 0..3 * SECOND_NS], delay(), any::<bool>())
}

proptest! {
    #[test]
    fn the_true_offset_is_within_the_bound(
        agent in clock(),
        coordinator in clock(),
        trips in prop::collection::vec(trip(), 1..80),
        order in any::<prop::sample::Index>(),
        later in prop::collection::vec(0..4_000 * SECOND_NS, 1..8),
    ) {
        let (mut all, end) = exchanges(agent, coordinator, &trips);
        let middle = order.index(all.len().max(1));
        let middle = middle.min(all.len());
        all.rotate_left(middle);
        let mut clock = Clock::default();
        for exchange in &all {
            prop_assert!(clock.add(exchange), "{exchange:?}");
        }
        let Some(estimate) = clock.estimate() else { return Ok(()) };
        for truth in later.iter().map(|later| end + later).chain([end, end / 2, 0]) {
            let (a, c) = (agent.at(truth), coordinator.at(truth));
            prop_assert!((a - c - estimate.offset_ns).abs() <= estimate.bound_at(a), "{estimate:?} at {a}");
            prop_assert!((a - c - estimate.offset_ns).abs() <= estimate.bound_at_coordinator(c));
            for (span, other) in [(estimate.at_agent(c), a), (estimate.at_coordinator(a), c)] {
                prop_assert!((span.earliest..=span.latest).contains(&other), "{span:?} without {other}");
            }
        }
        if let Some(drift) = clock.drift() {
            let rate = |clock: Given| 1.0 + clock.ppb as f64 / 1e9;
            let truth = (rate(agent) - rate(coordinator)) / rate(agent) * 1e6;
            prop_assert!((drift.ppm - truth).abs() <= drift.bound_ppm + 1e-3, "{drift:?}, truth {truth}");
        }
    }

    #[test]
    fn times_that_no_clocks_read_are_refused_without_overflow(times in any::<[i64; 4]>()) {
        let [sent, received, answered, returned] = times;
        let exchange = Exchange { sent, received, answered, returned };
        if let Some(estimate) = exchange.estimate() {
            prop_assert!(sent <= returned && received <= answered && estimate.bound_ns > 0);
            let span = estimate.at_agent(sent);
            prop_assert!(span.earliest <= span.latest);
        }
        prop_assert!(exchange.round_trip() >= 0);
    }
}

#[test]
fn the_least_bound_now_wins_and_a_better_one_of_long_ago_does_not() {
    let exchange = |sent: i64, trip: i64| Exchange {
        sent,
        received: sent + trip / 2,
        answered: sent + trip / 2,
        returned: sent + trip,
    };
    let mut clock = Clock::default();
    clock.add(&exchange(0, 100_000));
    clock.add(&exchange(SECOND_NS / 10, 200_000));
    let bound = |clock: &Clock| clock.estimate().unwrap().bound_ns;
    assert_eq!(bound(&clock), 50_000 + ROUNDING_NS);
    // Ten seconds add a millisecond.
    clock.add(&exchange(10 * SECOND_NS, 200_000));
    assert_eq!(bound(&clock), 100_000 + ROUNDING_NS);
}
