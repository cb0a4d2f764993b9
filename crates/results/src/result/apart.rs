//! Replies whose first and last byte came apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// From the first to the last byte of a reply that waits for a delayed acknowledgement, in nanoseconds: 40 ms, as Linux waits at
/// least, and the precision of its timers.
pub const DELAYED_ACK_NS: Range<u64> = 35_000_000..45_000_001;
/// What is counted around it.
const AROUND_NS: Range<u64> = 20_000_000..80_000_001;

/// Count of completed replies by the time from their first to their last byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Apart {
    /// 35 to 45 ms, as a delayed acknowledgement makes it.
    pub from_35_to_45_ms: u64,
    /// 20 to 80 ms, those included.
    pub from_20_to_80_ms: u64,
}

impl Apart {
    /// Counts a reply.
    pub fn record(&mut self, ns: u64) {
        self.from_20_to_80_ms += u64::from(AROUND_NS.contains(&ns));
        self.from_35_to_45_ms += u64::from(DELAYED_ACK_NS.contains(&ns));
    }

    pub fn add(&mut self, other: &Self) {
        self.from_20_to_80_ms += other.from_20_to_80_ms;
        self.from_35_to_45_ms += other.from_35_to_45_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_a_part_of_what_they_bound() {
        let mut all = Apart::default();
        [0, 19_999_999, 20_000_000, 34_999_999, 35_000_000, 45_000_000, 45_000_001, 80_000_000, 80_000_001]
            .into_iter()
            .for_each(|ns| all.record(ns));
        assert_eq!((all.from_20_to_80_ms, all.from_35_to_45_ms), (6, 2));
        all.add(&Apart { from_20_to_80_ms: 1, from_35_to_45_ms: 1 });
        assert_eq!((all.from_20_to_80_ms, all.from_35_to_45_ms), (7, 3));
    }
}
