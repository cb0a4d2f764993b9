//! The result of a load that goes on: what its figures are if it ends now. It holds what the lines of `series.jsonl` know; views
//! take figures from it as from the result at the end.

use crate::series::{Line, SoFar};
use crate::{LatencySummary, RunResult};

/// A mean over the seconds that have the figure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Mean {
    sum: f64,
    seconds: f64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>, length_s: f64) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value * length_s;
            self.seconds += length_s;
        }
    }

    fn get(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.sum / self.seconds)
    }
}

/// Sums over the lines of the measured window, and the state at the end of the last line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provisional {
    length_s: f64,
    offered: Option<u64>,
    completed: Option<u64>,
    failed: u64,
    server_user: Mean,
    server_system: Mean,
    generator: Mean,
    steal: Mean,
    server_rss_bytes: Option<u64>,
    server_threads: Option<u64>,
    so_far: SoFar,
}

impl Provisional {
    /// Of one line alone, whether it lies in the window or not; `length_s` is its length in seconds.
    pub fn of(line: &Line, length_s: f64) -> Self {
        let mut alone = Self::default();
        alone.sum(line, length_s);
        alone.end(line);
        alone.so_far = SoFar {
            response: LatencySummary {
                count: line.completed.unwrap_or(0),
                p50_us: line.p50_us,
                p99_us: line.p99_us,
                p999_us: line.p999_us,
                ..LatencySummary::default()
            },
            lag_p99_us: line.lag_p99_us,
            ..SoFar::default()
        };
        alone
    }

    /// Takes the next line, of `length_s` seconds. Errors of the warm-up are known too.
    pub fn add(&mut self, line: &Line, length_s: f64) {
        if !line.warmup {
            self.sum(line, length_s);
        }
        self.end(line);
        if let Some(so_far) = &line.so_far {
            self.so_far = (**so_far).clone();
        }
    }

    fn sum(&mut self, line: &Line, length_s: f64) {
        self.length_s += length_s;
        let add =
            |sum: Option<u64>, more: Option<u64>| more.map_or(sum, |more| Some(sum.unwrap_or(0).saturating_add(more)));
        self.offered = add(self.offered, line.offered);
        self.completed = add(self.completed, line.completed);
        self.failed = self.failed.saturating_add(line.failed.unwrap_or(0));
        self.server_user.add(line.server_cpu_user_percent, length_s);
        self.server_system.add(line.server_cpu_system_percent, length_s);
        self.generator.add(line.generator_cpu_percent, length_s);
        self.steal.add(line.host_steal_percent, length_s);
    }

    fn end(&mut self, line: &Line) {
        (self.server_rss_bytes, self.server_threads) = (line.server_rss_bytes, line.server_threads);
    }

    /// Length of the window until now, in seconds; 0 before it begins.
    pub fn length_s(&self) -> f64 {
        self.length_s
    }

    /// Whether requests have a schedule.
    pub fn is_offered(&self) -> bool {
        self.offered.is_some()
    }

    /// Whether something is known that can be judged.
    pub fn is_judged(&self) -> bool {
        self.length_s > 0.0 || self.so_far.errors.total() > 0
    }

    /// CPU time that the hypervisor took, in percent.
    pub fn steal_percent(&self) -> Option<f64> {
        self.steal.get()
    }

    /// A rate that is not known is no number.
    pub fn result(&self) -> RunResult {
        let so_far = &self.so_far;
        let per_second =
            |count: Option<u64>| count.filter(|_| self.length_s > 0.0).map(|count| count as f64 / self.length_s);
        let mut result = RunResult::new("brunt");
        result.load.measured_s = self.length_s;
        result.requests.completed = self.completed.unwrap_or(0);
        // Only those of a load know which failures are the window's.
        result.requests.failed = so_far.failed.unwrap_or(self.failed);
        result.requests.rate = per_second(self.completed).unwrap_or(f64::NAN);
        (result.requests.offered_rate, result.requests.due) = (per_second(self.offered), self.offered);
        result.requests.waited = Some(so_far.waited);
        result.errors = so_far.errors.clone();
        result.latency.response = so_far.response.clone();
        // There is no lag without a reply or a loss, of which each has one.
        result.latency.lag =
            LatencySummary { count: so_far.response.count, p99_us: so_far.lag_p99_us, ..LatencySummary::default() };
        result.generator.cpu_percent = self.generator.get();
        result.generator.thread_cpu_percent = so_far.busiest_thread_percent.into_iter().collect();
        (result.server.cpu_user_percent, result.server.cpu_system_percent) =
            (self.server_user.get(), self.server_system.get());
        // The busiest thread of several is not metered every second; it is at most as busy as all of them.
        result.server.busiest_thread_percent = result.server.cpu_percent();
        (result.server.rss_bytes, result.server.threads) = (self.server_rss_bytes, self.server_threads);
        result.server.cpu_us_per_request = result.us_per_request(result.server.cpu_percent());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{COST, OFFERED_RATE, P99, RATE, RSS};

    fn line(at_s: f64, warmup: bool) -> Line {
        let completed = Some(if warmup { 9 } else { 1000 });
        let (user, system) = (Some(25.0), Some(75.0));
        let so_far = SoFar {
            response: LatencySummary { count: 1000, p99_us: Some(250.0), ..LatencySummary::default() },
            ..SoFar::default()
        };
        Line {
            at_s,
            warmup,
            completed,
            p99_us: Some(240.0),
            server_cpu_user_percent: user,
            server_cpu_system_percent: system,
            server_rss_bytes: Some(4096),
            so_far: Some(Box::new(so_far)),
            ..Line::default()
        }
    }

    #[test]
    fn figures_are_those_of_the_window_or_of_one_line() {
        let mut all = Provisional::default();
        all.add(&line(1.0, true), 1.0);
        assert_eq!(((RATE.of)(&all.result()), all.is_judged()), (None, false));
        all.add(&line(2.0, false), 1.0);
        all.add(&line(2.5, false), 0.5);
        let figures = |result: &RunResult| [RATE.of, OFFERED_RATE.of, P99.of, COST.of, RSS.of].map(|of| of(result));
        assert_eq!(figures(&all.result()), [Some(2000.0 / 1.5), None, Some(250.0), Some(750.0), Some(4096.0)]);
        let alone = Provisional::of(&line(1.0, true), 2.0).result();
        assert_eq!(figures(&alone)[..3], [Some(4.5), None, Some(240.0)]);
    }
}
