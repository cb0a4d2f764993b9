//! Whether replies waited for delayed acknowledgements.
//!
//! A server that sends a reply in several small writes without TCP_NODELAY has Nagle's algorithm (RFC 896) hold the second one back
//! until the first is acknowledged, which the client's kernel delays (RFC 9293, 3.8.6.3; at least 40 ms on Linux). Times alone show
//! it: nothing else makes the last byte of short replies come 35 to 45 ms after the first one, and seldom earlier or later.

use crate::{result::RunResult, verdict::ValidityIssue};

/// From this share of the replies on, in percent, they are what lies beyond the p99.
const PERCENT: f64 = 1.0;
/// Fewer such replies may be pauses of the machine.
const LEAST: u64 = 5;
/// Least share of those that took 20 to 80 ms from the first to the last byte: of a server that works meanwhile, more take less and
/// more time. Timers of 4 ms make some acknowledgements as late as 48 ms.
const OF_AROUND: f64 = 0.5;
/// Bytes that a TCP sender may have in flight at first: ten segments (RFC 6928) of 1460 bytes. What is longer takes a second round
/// trip.
const INITIAL_WINDOW: f64 = 14_600.0;
/// Time to the first byte, in microseconds, below which no round trip takes 35 ms.
const NEAR_US: f64 = 20_000.0;

pub(super) fn issue(result: &RunResult) -> Option<ValidityIssue> {
    let apart = result.responses.as_ref()?.apart?;
    let (delayed, replies) = (apart.from_35_to_45_ms, result.latency.service.count.max(1));
    let is_near = result.latency.first_byte.as_ref()?.p50_us? < NEAR_US;
    let is_short = || result.bytes_per_reply().is_some_and(|bytes| bytes <= INITIAL_WINDOW);
    let is_sharp = delayed as f64 >= OF_AROUND * apart.from_20_to_80_ms as f64;
    let is_seen = delayed >= LEAST && delayed as f64 * 100.0 >= PERCENT * replies as f64;
    (is_seen && is_sharp && (is_near || is_short())).then_some(ValidityIssue::DelayedAck { delayed, replies })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencySummary;
    use crate::result::{Apart, Bytes, Responses};

    /// So many of 100 replies, of this length, with the first byte after so long.
    fn delayed(from_35_to_45_ms: u64, from_20_to_80_ms: u64, bytes: u64, first_us: f64) -> bool {
        let mut result = RunResult::new("brunt");
        result.requests.completed = 100;
        result.bytes = Bytes::of(0, 100 * bytes);
        result.latency.service.count = 100;
        result.latency.first_byte = Some(LatencySummary { p50_us: Some(first_us), ..LatencySummary::default() });
        let apart = Some(Apart { from_35_to_45_ms, from_20_to_80_ms });
        result.responses = Some(Responses { apart, ..Responses::default() });
        issue(&result).is_some()
    }

    #[test]
    fn few_replies_or_ones_among_others_that_took_about_as_long_are_none() {
        assert!(delayed(100, 100, 200, 100.0) && delayed(5, 5, 200, 100.0) && delayed(10, 20, 200, 100.0));
        assert!(!delayed(4, 4, 200, 100.0) && !delayed(9, 20, 200, 100.0));
    }

    #[test]
    fn a_second_round_trip_to_a_target_that_is_far_away_is_none() {
        assert!(delayed(100, 100, 14_600, 40_000.0) && delayed(100, 100, 100_000, 19_999.0));
        assert!(!delayed(100, 100, 14_601, 40_000.0));
    }

    #[test]
    fn the_evidence_has_the_share() {
        let issue = ValidityIssue::DelayedAck { delayed: 5, replies: 40 };
        assert!(issue.evidence().starts_with("5 of 40 replies (12.5 %) had their last byte 35 to 45 ms after"));
    }
}
