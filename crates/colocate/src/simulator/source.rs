//! What a controller sees of the simulated machine: sums over a tenth of a second, late, and sometimes not at all.

use super::chance::Chance;
use super::plant::{GRID, Step};
use crate::objective::Objective;
use crate::readings::{Reading, Readings, Requests};
use std::collections::VecDeque;

/// Time between two reports, and from the end of a report's window to its arrival.
const PERIOD: f64 = 0.1;
const DELAY: f64 = 0.02;

/// Reports whose requests give the latency: a second.
const LATENCY_REPORTS: usize = 10;

#[derive(Debug, Clone)]
pub struct Source {
    objective: Objective,
    /// `None` if the load is not known.
    peak_rate: Option<f64>,
    /// Share of the reports that get lost.
    missing: f64,
    chance: Chance,
    sum: Sum,
    tails: VecDeque<[f64; GRID.len()]>,
    on_the_way: VecDeque<(f64, Readings)>,
    last: Option<(f64, Readings)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    seconds: f64,
    requests: Requests,
    above: [f64; GRID.len()],
    /// Means, weighted by time: lost, cores of the service and of the jobs, memory bandwidth and that of the jobs.
    shares: [f64; 5],
}

impl Source {
    pub fn new(objective: Objective, peak_rate: Option<f64>, missing: f64, seed: u64) -> Self {
        Self {
            objective,
            peak_rate,
            missing,
            chance: Chance::new(seed),
            sum: Sum::default(),
            tails: VecDeque::new(),
            on_the_way: VecDeque::new(),
            last: None,
        }
    }

    /// Adds a step that ended `now`, in seconds. What is reported while the source is silent is lost.
    pub fn add(&mut self, now: f64, seconds: f64, step: &Step, is_silent: bool) {
        let sum = &mut self.sum;
        sum.seconds += seconds;
        sum.requests.count += step.arrivals;
        sum.requests.slow += step.slow;
        sum.requests.failed += step.failed;
        sum.above.iter_mut().zip(step.above).for_each(|(sum, above)| *sum += above);
        let shares = [step.lost, step.lc_cores, step.be_cores, step.memory_bandwidth, step.be_memory_bandwidth];
        sum.shares.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share * seconds);
        if sum.seconds >= PERIOD - 1e-9 {
            self.report(now, is_silent);
        }
    }

    fn report(&mut self, end: f64, is_silent: bool) {
        let sum = std::mem::take(&mut self.sum);
        self.tails.push_back(sum.above);
        if self.tails.len() > LATENCY_REPORTS {
            self.tails.pop_front();
        }
        if self.chance.uniform() < self.missing || is_silent {
            return;
        }
        let load = self.peak_rate.map(|peak| sum.requests.count as f64 / sum.seconds / peak);
        let requests = Requests { seconds: sum.seconds, latency_ms: self.latency_ms(), load, ..sum.requests };
        let [lost, lc_cpu, be_cpu, memory_bandwidth, be_memory_bandwidth] =
            sum.shares.map(|share| Some(Reading { value: share / sum.seconds, age: 0.0 }));
        let requests = Some(Reading { value: requests, age: 0.0 });
        let readings =
            Readings { requests, lost, lc_cpu, be_cpu, memory_bandwidth, be_memory_bandwidth, ..Readings::default() };
        self.on_the_way.push_back((end, readings));
    }

    /// The objective's quantile over the last second, between the latencies of the grid.
    fn latency_ms(&self) -> f64 {
        let above = |index: usize| self.tails.iter().map(|tail| tail[index]).sum::<f64>();
        let (all, budget) = (above(0).max(1e-9), self.objective.budget());
        let over = (1..GRID.len()).find(|index| above(*index) / all <= budget);
        let part = over.map_or(GRID[GRID.len() - 1], |index| {
            let (left, right) = (above(index - 1) / all, above(index) / all);
            let way = if left > right { (left - budget.min(left)) / (left - right) } else { 0.0 };
            GRID[index - 1] + way * (GRID[index] - GRID[index - 1])
        });
        part * self.objective.limit_ms
    }

    /// What has arrived, as it looks `now`.
    pub fn readings(&mut self, now: f64) -> Readings {
        while let Some(arrived) = self.on_the_way.front().filter(|(end, _)| end + DELAY <= now + 1e-9) {
            self.last = Some(*arrived);
            self.on_the_way.pop_front();
        }
        self.last.map_or(Readings::default(), |(end, readings)| readings.aged(now - end))
    }
}
