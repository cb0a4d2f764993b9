//! Length of the slices of a load and of the lead before each. Pure.

use std::time::Duration;

/// Replies that a slice should have for its figures.
const REPLIES: f64 = 1000.0;
/// Replies of each connection that a slice should have.
const REPLIES_EACH: f64 = 2.0;
pub const LONGEST: Duration = Duration::from_secs(1);
/// Lengths are multiples of this, so that the starts of a load have the same.
const STEP: Duration = Duration::from_millis(50);
/// Caches, predictors and socket buffers of a target that idled are warm after this.
pub const LEAST_LEAD: Duration = Duration::from_millis(10);
/// Largest share of a slice that the lead takes.
const LEAD_SHARE: f64 = 0.25;

/// What a target did in an unmeasured slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Replies a second.
    pub rate: f64,
    /// Median response time.
    pub p50: Duration,
}

/// Length of the measured window of every slice, and of its lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    pub window: Duration,
    pub lead: Duration,
}

/// Lengths for all targets of a load with `connections` each: at least `wanted`, longer where a target would give too few
/// replies, at most a second. In the lead every connection is answered once.
pub fn lengths(wanted: Duration, connections: u64, paces: &[Pace]) -> Lengths {
    let connections = connections as f64;
    let slowest = paces.iter().map(|pace| pace.rate).fold(f64::INFINITY, f64::min).max(1e-3);
    let seconds = (REPLIES.max(REPLIES_EACH * connections) / slowest).min(LONGEST.as_secs_f64());
    let window = match Duration::from_secs_f64(seconds) {
        enough if enough <= wanted => wanted,
        more => STEP * more.as_nanos().div_ceil(STEP.as_nanos()) as u32,
    };
    let once = Duration::from_secs_f64((connections / slowest).min(LONGEST.as_secs_f64()));
    let slow = paces.iter().map(|pace| pace.p50 * 3).max().unwrap_or_default();
    let most = window.mul_f64(LEAD_SHARE);
    Lengths { window, lead: LEAST_LEAD.max(once).max(slow).min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
