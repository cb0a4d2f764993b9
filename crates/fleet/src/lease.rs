//! Leases: until when an agent may hold a reservation, and until when it may send.
//!
//! A lease is granted as a time of the coordinator's clock. The agent tests it against its own clock, so that no message has to
//! arrive for the load to end.
//!
//! Invariant: a lease on the agent's clock ends no later than the time that the coordinator granted, as the coordinator's clock
//! has it, as long as the estimate holds.

use crate::{SECOND_NS, sync::Estimate};

/// For how long a reservation holds before the start, from the last renewal.
pub const RESERVED_NS: i64 = 30 * SECOND_NS;
/// For how long an agent may send after the last renewal that it has heard.
pub const RUNNING_NS: i64 = 5 * SECOND_NS;
/// For how long an agent offers its results after the last order that it has heard.
pub const REPORTING_NS: i64 = 60 * SECOND_NS;

/// What the coordinator grants at a time of its clock; with the start of the load once that is committed.
pub fn granted(now: i64, start: Option<i64>) -> i64 {
    match start {
        None => now.saturating_add(RESERVED_NS),
        Some(start) => now.max(start).saturating_add(RUNNING_NS),
    }
}

/// The end of a lease on the agent's clock: at the safe side, and `longest` at most, so that a time without sense holds no agent.
pub fn on_agent(granted: i64, clock: &Estimate, longest: i64) -> i64 {
    clock.at_agent(granted).earliest.min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_lease_ends_before_the_time_granted(
            offset_ns in -1_000 * SECOND_NS..1_000 * SECOND_NS,
            bound_ns in 0..SECOND_NS,
            error in -1.0..=1.0f64,
            ppb in -100_000..=100_000i64,
            granted in -1_000 * SECOND_NS..1_000 * SECOND_NS,
        ) {
            let clock = Estimate { offset_ns, bound_ns, at_ns: 0 };
            let end = on_agent(granted, &clock, i64::MAX);
            // The coordinator's clock when the agent's reads `end`: off by the error at 0, and by what it has drifted since.
            let drifted = (i128::from(end) * i128::from(ppb) / i128::from(SECOND_NS)) as i64;
            let truth = end - offset_ns - (bound_ns as f64 * error) as i64 - drifted;
            prop_assert!(truth <= granted, "{} ns late", truth - granted);
            prop_assert!(on_agent(granted, &clock, 7) <= 7);
        }
    }
}
