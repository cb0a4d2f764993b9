//! What the slices of one target at one rate say: CPU time a request, its share of a core, latency; and whether the point counts.

use super::estimate::{Estimate, estimates};
use super::record::CostSlice;
use super::rounds::PointRound;
use brunt_results::hlog::Counts;
use brunt_results::units::trimmed;
use brunt_statistics::{CONFIDENCE, Interval, median, median_interval, supports_quantile};
use serde::{Deserialize, Serialize};

/// Share by which a rate may be missed.
const MISSED: f64 = 0.02;
/// Standard errors of a count by which it may be missed beside: arrivals may be random.
const BY_CHANCE: f64 = 3.0;
/// Share of the requests that may fail.
const FAILED: f64 = 0.001;
/// CPU of the generator's busiest thread from which it is the limit, in percent of a core.
const BUSY: f64 = 95.0;
const P99: f64 = 0.99;

/// A target at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Offered requests a second.
    pub rate: f64,
    /// Correct replies a second of the windows.
    pub answered: f64,
    pub slices: usize,
    /// CPU time a reply, in microseconds; absent if the target is not metered.
    pub cost_us: Option<Estimate>,
    /// CPU of the target in percent of one core.
    pub cpu_percent: Option<f64>,
    pub p50_us: Option<f64>,
    /// Median over slices with at least 1,000 replies, or over groups of rounds that have as many.
    pub p99_us: Option<Estimate>,
    pub failed: u64,
    /// Why the point is not one of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Whether no other target is certainly lower in cost and no higher in p99, or the other way round, at this rate.
    pub on_frontier: bool,
}

impl Point {
    /// `rounds` are those that count; `all` are the slices of other rounds too, for failures.
    pub(super) fn of(rate: f64, rounds: &[PointRound], all: &[&CostSlice]) -> Self {
        let row = |round: &PointRound| {
            let cost = round.mean(|slice| slice.slice.cpu_us_per_request())?;
            Some((round.start, vec![cost, round.mean(CostSlice::cpu_us_per_s)?]))
        };
        let (starts, rows): (Vec<u32>, Vec<Vec<f64>>) = rounds.iter().filter_map(row).unzip();
        let found = estimates(&rows, &starts, |centres| Some(centres.to_vec()));
        let (cost_us, cpu) = match found.as_deref() {
            Some([cost, cpu]) => (Some(*cost), Some(cpu.value)),
            _ => (None, None),
        };
        let own: Vec<&CostSlice> = rounds.iter().flat_map(|round| round.slices.iter().copied()).collect();
        let window_us: u64 = own.iter().map(|slice| slice.slice.window_us).sum();
        let completed: u64 = own.iter().map(|slice| slice.slice.completed).sum();
        Self {
            rate,
            answered: if window_us > 0 { completed as f64 / window_us as f64 * 1e6 } else { 0.0 },
            slices: own.len(),
            cost_us,
            cpu_percent: cpu.map(|us_per_s| us_per_s / 1e4),
            p50_us: median(own.iter().map(|slice| slice.slice.latency.p50_us)),
            p99_us: p99(&own),
            failed: all.iter().map(|slice| failed(slice)).sum(),
            left_out: left_out(rate, completed, window_us, &own),
            on_frontier: false,
        }
    }
}

fn failed(slice: &CostSlice) -> u64 {
    slice.slice.failed.max(slice.slice.errors.total())
}

/// Why the point is not one of the line, if it is not.
fn left_out(rate: f64, completed: u64, window_us: u64, slices: &[&CostSlice]) -> Option<String> {
    if slices.is_empty() {
        return Some("no slice counts".to_owned());
    }
    let (failures, replies) = slices
        .iter()
        .fold((0, 0), |(failures, replies), slice| (failures + failed(slice), replies + slice.slice.replies));
    if failures as f64 > FAILED * (failures + replies) as f64 {
        return Some(format!("{failures} of {} requests failed", failures + replies));
    }
    let due = rate * window_us as f64 / 1e6;
    if due - completed as f64 > (MISSED * due).max(BY_CHANCE * due.sqrt()) {
        let percent = trimmed((completed as f64 / due * 1e3).round() / 10.0);
        let generator = median(slices.iter().map(|slice| Some(slice.slice.generator_percent))).unwrap_or(0.0);
        let why = match generator >= BUSY {
            true => "the generator was the limit: give it more --cores",
            false => "it does not hold the rate",
        };
        return Some(format!("{percent} % of the requests were answered in time: {why}"));
    }
    None
}

/// The median of the p99 of slices, or of groups of rounds that have replies enough for it, with the interval of a median. `None`
/// without a group.
fn p99(slices: &[&CostSlice]) -> Option<Estimate> {
    let is_enough = |count: u64| supports_quantile(count as f64, 1.0 - P99);
    let (mut values, mut group, mut count) = (Vec::new(), Vec::new(), 0);
    for slice in slices {
        group.push(*slice);
        count += slice.slice.latency.count;
        if is_enough(count) {
            values.extend(p99_of(&group));
            (group, count) = (Vec::new(), 0);
        }
    }
    let value = median(values.iter().copied().map(Some))?;
    let interval = median_interval(&values, CONFIDENCE).map(|found| Interval { low: found.low, high: found.high });
    Some(Estimate { value, interval })
}

/// Of a slice its own, which is exact; of several, that of their distributions together.
fn p99_of(group: &[&CostSlice]) -> Option<f64> {
    if let [slice] = group {
        return slice.slice.latency.p99_us;
    }
    let counts = group.iter().map(|slice| slice.slice.counts().ok()).collect::<Option<Vec<Counts>>>()?;
    Some(Counts::merged(&counts).quantile(P99) as f64 / 1e3)
}
