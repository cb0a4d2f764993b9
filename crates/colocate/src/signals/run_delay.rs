//! Time that threads of the LC service wait for a core that others have, as the kernel's scheduler accounts for it.
//!
//! A service with more threads than cores also waits for itself.

use super::signal::{Capability, Signal};
use crate::readings::Reading;
use brunt_meter::SamplingBudget;
use brunt_meter::run_queue::RunQueue;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct RunDelay {
    waits: RunQueue,
    begin: Option<Instant>,
    newest: Option<(Instant, f64)>,
    /// A service of many threads is read less often.
    budget: SamplingBudget,
}

impl RunDelay {
    pub(super) fn sample(&mut self, now: Instant, pids: &[u32]) {
        let Some(longest) = self.budget.take(|| self.waits.longest(pids)) else { return };
        let window = self.begin.map(|begin| now.saturating_duration_since(begin)).filter(|window| !window.is_zero());
        // A wait counts when it ends, and may have begun before the window.
        let share =
            longest.zip(window).map(|(longest, window)| (longest.as_secs_f64() / window.as_secs_f64()).min(1.0));
        self.newest = share.map(|share| (now, share));
        self.begin = longest.map(|_| now);
    }

    pub(super) fn capability(&self) -> Capability {
        let name = Signal::RunDelay;
        match self.begin {
            Some(_) => Capability::available(name, "/proc/PID/task/TID/schedstat of the service"),
            None => {
                let evidence = "no schedstat of the service: the kernel has none, or it has more than 512 threads";
                Capability::missing(
                    name,
                    evidence,
                    "jobs are taken for the cause where other processes have the service's core",
                )
            }
        }
    }

    pub(super) fn reading(&self, now: Instant) -> Option<Reading<f64>> {
        let (end, value) = self.newest?;
        Some(Reading::until(end, value, now))
    }
}
