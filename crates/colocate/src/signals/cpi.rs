//! Cycles for each instruction of the LC service, by hardware counters: it rises when jobs take caches or memory bandwidth.

use super::rate::is_due;
use super::signal::{Capability, Signal};
use crate::readings::Reading;
use brunt_meter::SamplingBudget;
use brunt_meter::counters::{self, Counters, Event};
use std::time::{Duration, Instant};

/// Time between two attachments, when the service's processes change.
const ATTACH: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Cpi {
    /// The processes that are counted.
    pids: Vec<u32>,
    counters: Option<Counters>,
    before: Option<counters::Reading>,
    attached: Option<Instant>,
    newest: Option<(Instant, f64)>,
    why: Option<String>,
    /// Each thread has three counters.
    budget: SamplingBudget,
}

impl Cpi {
    /// Ends a window. Threads are attached with all that they create later.
    pub(super) fn sample(&mut self, now: Instant, pids: &[u32]) {
        if self.pids != pids && is_due(&mut self.attached, now, ATTACH) {
            self.pids = pids.to_vec();
            let mut counters = Counters::attach_processes(pids, &Event::RESULT);
            let first = counters.read();
            self.why = ratio(&first, &first).err();
            self.counters = self.why.is_none().then_some(counters);
            (self.before, self.newest) = (Some(first), None);
        }
        let Self { counters: Some(counters), before: Some(before), budget, .. } = self else { return };
        let Some(read) = budget.take(|| counters.read()) else { return };
        (self.newest, self.why) = match ratio(&read, before) {
            Ok(cpi) => (cpi.map(|cpi| (now, cpi)), None),
            Err(why) => (None, Some(why)),
        };
        *before = read;
    }

    pub(super) fn reading(&self, now: Instant) -> Option<Reading<f64>> {
        let (end, value) = self.newest?;
        Some(Reading::until(end, value, now))
    }

    pub(super) fn capability(&self) -> Capability {
        let name = Signal::Cpi;
        match &self.why {
            None => Capability::available(name, "hardware counters of the service's threads"),
            Some(why) => {
                Capability::missing(name, why, "what jobs take of its caches shows in the service's latency alone")
            }
        }
    }
}

/// Cycles for each instruction; none where nothing ran.
fn ratio(now: &counters::Reading, before: &counters::Reading) -> Result<Option<f64>, String> {
    let [user, kernel, cycles] = Event::RESULT.map(|event| now.since(before, event));
    let instructions = user? + kernel?;
    let cycles = cycles?;
    Ok((instructions > 0.0).then(|| cycles / instructions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    #[test]
    fn a_busy_process_has_a_plausible_figure_and_a_machine_without_counters_a_reason() {
        let (mut cpi, begin) = (Cpi::default(), crate::clock::now());
        for tick in 0..20 {
            let mut sum = 0u64;
            (0..1_000_000u64).for_each(|number| sum = std::hint::black_box(sum.wrapping_add(number)));
            cpi.sample(begin + Duration::from_millis(100 * tick), &[process::id()]);
        }
        let end = begin + Duration::from_secs(2);
        match cpi.capability() {
            capability if capability.available => {
                let Reading { value, age } = cpi.reading(end).unwrap();
                assert!((0.05..50.0).contains(&value) && (age - 0.1).abs() < 1e-9, "{value} {age}");
            }
            capability => assert!(cpi.reading(end).is_none() && !capability.evidence.is_empty()),
        }
    }
}
