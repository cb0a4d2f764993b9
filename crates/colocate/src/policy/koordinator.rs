//! The rule of Koordinator's node agent (koordlet, plugin cpusuppress) for best-effort pods: the machine is filled up to a
//! threshold by CPU time, without regard to latency.

use super::{Decision, Policy, Reason, staleness};
use crate::allotment::{Allotment, Bounds};
use crate::readings::Readings;
use std::time::Duration;

/// Part of the cores that service and jobs may use together.
const THRESHOLD: f64 = 0.65;
const PERIOD: Duration = Duration::from_secs(1);
/// Growth in a period, as a share of the cores. Shrinks are made at once.
const STEP: f64 = 0.1;

#[derive(Debug, Clone)]
pub struct Koordinator {
    bounds: Bounds,
    cores: f64,
    next: Duration,
    reason: Reason,
}

impl Koordinator {
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, cores: bounds.floor, next: Duration::ZERO, reason: Reason::Hold }
    }
}

impl Policy for Koordinator {
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision {
        let Bounds { floor, ceiling, deadline } = self.bounds;
        if let Some(reason) = staleness(now, readings, deadline) {
            self.cores = floor;
            let allotment = if reason == Reason::Lost { Allotment::FROZEN } else { Allotment::cores(floor) };
            return Decision { allotment, reason };
        }
        if let Some(used) = readings.lc_cpu.filter(|_| now >= self.next) {
            self.next = now + PERIOD;
            let wanted = (ceiling * THRESHOLD - used.value).clamp(floor, ceiling);
            let next = wanted.min(self.cores + STEP * ceiling);
            self.reason = match next.total_cmp(&self.cores) {
                std::cmp::Ordering::Less => Reason::Shrink,
                std::cmp::Ordering::Equal => Reason::Hold,
                std::cmp::Ordering::Greater => Reason::Grow,
            };
            self.cores = next;
        }
        Decision { allotment: Allotment::cores(self.cores), reason: self.reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{Reading, Requests};

    #[test]
    fn it_fills_the_machine_to_its_threshold_and_gives_way_at_once() {
        let mut policy = Koordinator::new(Bounds::new(0.1, 8.0));
        let mut at = |second: u64, used| {
            let requests =
                Some(Reading { value: Requests { seconds: 0.1, count: 100, ..Requests::default() }, age: 0.0 });
            let readings =
                Readings { requests, lc_cpu: Some(Reading { value: used, age: 0.0 }), ..Readings::default() };
            policy.decide(Duration::from_secs(second), &readings).allotment.cores
        };
        let cores: Vec<f64> = (0..8).map(|second| at(second, 1.0)).collect();
        assert!((cores[0] - 0.9).abs() < 1e-9 && (cores[1] - 1.7).abs() < 1e-9, "{cores:?}");
        assert!((cores[7] - 4.2).abs() < 1e-9, "{cores:?}");
        assert!((at(8, 4.0) - 1.2).abs() < 1e-9);
        assert!((at(9, 8.0) - 0.1).abs() < 1e-9);
    }
}
