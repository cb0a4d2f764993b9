//! Figures of a cell whose target had best-effort (BE) jobs beside it, or was alone to be compared with that.

use crate::plan::colocation::Objective;
use crate::plan::policy::{ALONE, NONE, shown};
use crate::run_directory::{Colocated, Seconds, TrialOutcome};
use brunt_results::RunResult;
use brunt_results::colocation::Summary;
use brunt_statistics::{CONFIDENCE, Interval, median_interval, percentile_median, spread, supported};

#[derive(Debug, Clone, PartialEq)]
pub struct Colocation {
    pub policy: String,
    pub co_runner: String,
    pub resource: Option<String>,
    pub objective: Objective,
    pub repeats: Vec<Repeat>,
}

/// One repeat. Times are in microseconds, CPU in percent of a core, network in bits a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Repeat {
    pub number: u32,
    pub rate: Option<f64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    /// The objective's percentile.
    pub latency_us: Option<f64>,
    pub service_cpu: Option<f64>,
    pub total_cpu: Option<f64>,
    /// Bytes a second.
    pub memory: Option<f64>,
    pub service_network: Option<f64>,
    pub job_network: Option<f64>,
    /// Work of the jobs, of what they do without load on the service and without bounds.
    pub job_rate: Option<f64>,
    /// Effective machine utilisation: rate of the service, of its peak, plus `job_rate`.
    pub emu: Option<f64>,
    /// Mean allotment of the jobs.
    pub job_cores: Option<f64>,
    pub changes: Option<u64>,
    pub seconds: Option<Seconds>,
}

/// A figure over the repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub median: f64,
    /// Interval of the median if there are enough repeats, else the range; `None` for one repeat.
    pub ends: Option<Interval>,
}

impl Colocation {
    /// `None` without a record of what ran beside the target.
    pub fn new(trials: &[(u32, TrialOutcome)], record: impl Fn(u32) -> Option<Colocated>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for (number, outcome) in trials {
            let Some(beside) = record(*number) else { continue };
            let all = all.get_or_insert_with(|| Self {
                policy: beside.policy.clone(),
                co_runner: beside.co_runner.clone(),
                resource: beside.resource.clone(),
                objective: beside.objective.clone(),
                repeats: Vec::new(),
            });
            if let TrialOutcome::Done(result) = outcome {
                all.repeats.push(repeat(*number, result, &beside));
            }
        }
        all
    }

    pub fn is_alone(&self) -> bool {
        self.policy == ALONE
    }

    /// The policy for readers.
    pub fn policy(&self) -> String {
        if self.policy == NONE { "unmanaged".to_owned() } else { shown(&self.policy) }
    }

    pub fn estimate(&self, figure: impl Fn(&Repeat) -> Option<f64>) -> Option<Estimate> {
        let values: Vec<f64> = self.repeats.iter().filter_map(figure).filter(|value| value.is_finite()).collect();
        let all = spread(values.iter().copied().map(Some))?;
        let range = Interval { low: all.low, high: all.high };
        let ends = median_interval(&values, CONFIDENCE).unwrap_or(range);
        Some(Estimate { median: all.median, ends: (values.len() > 1).then_some(ends) })
    }

    /// A percentile in microseconds over the repeats.
    pub fn time(&self, figure: impl Fn(&Repeat) -> Option<f64>) -> Option<Estimate> {
        let median = percentile_median(self.repeats.iter().map(&figure))?;
        Some(Estimate { median, ends: self.estimate(figure)?.ends })
    }

    /// The objective's percentile as a share of its limit.
    pub fn latency_share(&self) -> Option<f64> {
        Some(self.time(|repeat| repeat.latency_us)?.median / 1e3 / self.objective.limit_ms)
    }

    /// Share of the bad seconds among those of all repeats.
    pub fn bad_seconds(&self) -> Option<f64> {
        let all = || self.repeats.iter().filter_map(|repeat| repeat.seconds);
        let (bad, seconds) = (all().map(|of| of.bad).sum::<u64>(), all().map(|of| of.all).sum::<u64>());
        (seconds > 0).then(|| bad as f64 / seconds as f64)
    }
}

fn repeat(number: u32, result: &RunResult, beside: &Colocated) -> Repeat {
    let response = &result.latency.response;
    let percentile = |quantile: f64, value: Option<f64>| supported(response, quantile, value);
    let latency = response.figure(&beside.objective.figure).flatten();
    let machine = beside.summary.as_ref().map(|summary| summary.machine);
    let bits = |bytes: Option<f64>| bytes.map(|bytes| bytes * 8.0);
    let measured_s = Some(result.load.measured_s).filter(|seconds| *seconds > 0.0);
    let sent = result.server.network_sent_bytes.zip(measured_s).map(|(bytes, seconds)| bytes as f64 / seconds);
    let share = result.requests.rate / beside.peak;
    let job_rate =
        beside.summary.as_ref().zip(beside.unloaded.as_ref()).and_then(|(here, alone)| job_rate(here, alone));
    Repeat {
        number,
        rate: Some(result.requests.rate),
        p50_us: percentile(0.5, response.p50_us),
        p99_us: percentile(0.99, response.p99_us),
        p999_us: percentile(0.999, response.p999_us),
        latency_us: percentile(1.0 - beside.objective.budget(), latency),
        service_cpu: result.server.cpu_percent(),
        total_cpu: result.host.cpu_percent,
        memory: machine.and_then(|machine| machine.memory_bytes_per_s),
        service_network: bits(sent),
        job_network: bits(machine.and_then(|machine| machine.job_network_bytes_per_s)),
        job_rate,
        emu: if beside.policy == ALONE { Some(share) } else { job_rate.map(|rate| share + rate) },
        job_cores: beside.summary.as_ref().map(|summary| summary.allotment.cores),
        changes: beside.summary.as_ref().map(|summary| summary.allotment.changes),
        seconds: beside.seconds,
    }
}

/// Work a second against that without load: by the jobs' own progress, else by CPU time.
fn job_rate(here: &Summary, alone: &Summary) -> Option<f64> {
    let (work, base) = match (here.jobs.progress, alone.jobs.progress) {
        (Some(work), Some(base)) => (work, base),
        _ => (here.jobs.cpu_seconds, alone.jobs.cpu_seconds),
    };
    let ratio = (work / here.seconds) / (base / alone.seconds);
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::colocation::Jobs;

    fn summary(seconds: f64, progress: Option<f64>, cpu_seconds: f64) -> Summary {
        Summary { seconds, jobs: Jobs { progress, cpu_seconds, ..Jobs::default() }, ..Summary::default() }
    }

    #[test]
    fn work_is_compared_by_progress_where_both_have_it() {
        let alone = summary(4.0, Some(800.0), 4.0);
        assert_eq!(job_rate(&summary(8.0, Some(400.0), 7.0), &alone), Some(0.25));
        assert_eq!(job_rate(&summary(8.0, None, 2.0), &alone), Some(0.25));
        assert_eq!(job_rate(&summary(8.0, Some(1.0), 0.0), &summary(4.0, Some(0.0), 0.0)), None);
    }

    #[test]
    fn bad_seconds_are_added_over_repeats_and_a_dash_stays_a_dash() {
        let seconds = |bad, all| Repeat { seconds: Some(Seconds { all, bad }), ..Repeat::default() };
        let mut one = Colocation {
            policy: NONE.to_owned(),
            co_runner: "cpu".to_owned(),
            resource: None,
            objective: Objective { figure: "p99".to_owned(), limit_ms: 6.0 },
            repeats: vec![seconds(1, 4), seconds(3, 4), Repeat::default()],
        };
        assert_eq!((one.policy().as_str(), one.bad_seconds(), one.latency_share()), ("unmanaged", Some(0.5), None));
        one.repeats.truncate(0);
        assert_eq!(one.bad_seconds(), None);
    }
}
