//! How much other work disturbed an attempt at a trial, and which of two attempts counts.
//!
//! The choice uses figures of the machine and of the generator's and server's waits for cores, and none of what was measured:
//! otherwise repeating trials would select results.

use super::machine_speed::{SLOW_PERCENT, SpeedBaseline};
use super::records::TrialRecord;
use crate::schedule::Cell;
use brunt_results::RunResult;
use brunt_results::directory::Directory;
use brunt_results::judge::{RUN_QUEUE_PERCENT, STEAL_PERCENT};
use std::path::Path;

/// Time that other work took from an attempt, in percent, by source; `None` where it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// Longest time that a thread of the generator was runnable without a core.
    pub generator_wait: Option<f64>,
    /// The same of the server.
    pub server_wait: Option<f64>,
    /// Taken by the hypervisor.
    pub steal: Option<f64>,
    /// What the machine lacked of its best speed just before or after, whichever is worse.
    pub slowness: Option<f64>,
}

/// Largest value of each source that does not disturb a trial, in the order of [`Disturbance::sources`].
const LIMITS: [f64; 4] = [RUN_QUEUE_PERCENT, RUN_QUEUE_PERCENT, STEAL_PERCENT, 100.0 - SLOW_PERCENT];

impl Disturbance {
    /// Of the attempt in this directory; `None` if it has no result.
    pub fn read(dir: &Path, cell: &Cell, baseline: &SpeedBaseline) -> Option<Self> {
        let directory = Directory::open(dir);
        let result: RunResult = directory.read_result().ok()?;
        let speed = directory.read_json::<TrialRecord>("trial.json").ok().and_then(|record| record.speed);
        Some(Self {
            generator_wait: result.generator.run_queue_wait_percent,
            server_wait: result.server.run_queue_wait_percent,
            steal: result.host.steal_percent,
            slowness: speed.map(|speed| 100.0 - baseline.percent(cell, speed)),
        })
    }

    fn sources(self) -> [Option<f64>; 4] {
        [self.generator_wait, self.server_wait, self.steal, self.slowness]
    }

    /// The worse of each source: of trials that share one start of their target.
    pub fn worse(self, other: Self) -> Self {
        Self {
            generator_wait: worse(self.generator_wait, other.generator_wait),
            server_wait: worse(self.server_wait, other.server_wait),
            steal: worse(self.steal, other.steal),
            slowness: worse(self.slowness, other.slowness),
        }
    }

    /// Whether an attempt with this disturbance counts rather than the other: one without a source above its limit comes
    /// first, then the one with the smaller sum. Only sources known of both are compared.
    pub fn is_less_than(self, other: Self) -> bool {
        let both = self.sources().into_iter().zip(other.sources()).zip(LIMITS);
        let known = both.filter_map(|((own, other), limit)| Some((own?, other?, limit)));
        let (mut own, mut others) = ((false, 0.0), (false, 0.0));
        for (here, there, limit) in known {
            own = (own.0 || here > limit, own.1 + here);
            others = (others.0 || there > limit, others.1 + there);
        }
        own < others
    }
}

fn worse(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn disturbances() -> impl Strategy<Value = Disturbance> {
        let percent = || proptest::option::of(prop_oneof![Just(0.0), 0.0..12.0, 0.0..100.0]);
        (percent(), percent(), percent(), percent()).prop_map(|(generator_wait, server_wait, steal, slowness)| {
            Disturbance { generator_wait, server_wait, steal, slowness }
        })
    }

    #[test]
    fn a_fast_machine_does_not_make_up_for_a_generator_without_a_core() {
        let of = |generator_wait, slowness| Disturbance {
            generator_wait: Some(generator_wait),
            slowness: Some(slowness),
            ..Disturbance::default()
        };
        assert!(!of(41.0, 12.0).is_less_than(of(1.0, 20.0)) && of(1.0, 20.0).is_less_than(of(41.0, 12.0)));
        // Nothing above a limit comes before a smaller sum.
        assert!(of(4.0, 9.0).is_less_than(of(0.0, 12.0)));
    }

    proptest! {
        #[test]
        fn an_attempt_that_is_better_or_equal_in_every_source_is_kept(a in disturbances(), b in disturbances()) {
            let worst = a.worse(b);
            for better in [a, b] {
                prop_assert!(!worst.is_less_than(better), "{better:?} {worst:?}");
                let known = better.sources().into_iter().zip(worst.sources()).filter_map(|(one, other)| one.zip(other));
                let is_better = known.fold(false, |any, (one, other)| any || one < other);
                prop_assert_eq!(better.is_less_than(worst), is_better, "{:?} {:?}", better, worst);
            }
            prop_assert!(!(a.is_less_than(b) && b.is_less_than(a)));
        }
    }
}
