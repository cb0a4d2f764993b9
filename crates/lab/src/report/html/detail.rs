//! Details of a row. Its response time distribution: the histograms of its repeats added, read at percentiles spaced evenly
//! on a logarithmic scale towards the slow end; its heat map over time. Its time series: `series.jsonl` of the repeat with the median throughput.

use super::heat::{Heat, HeatMap};
use crate::format::significant;
use crate::{report::Row, run_directory::RunDirectory};
use brunt_results::result::Outage;
use brunt_results::{directory::Directory, hlog, latency::new_histogram};
use brunt_statistics::supports_quantile;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader};

/// Percentiles per decade of requests.
const STEPS: u32 = 8;
const DECADES: u32 = 6;

/// For each percentile `p`, `1 / (1 - p)`: from 1 to a million.
pub fn odds() -> impl Iterator<Item = f64> {
    // Powers of ten must be exact: they are labelled.
    (0..=STEPS * DECADES).map(|step| {
        let whole = 10f64.powi((step / STEPS) as i32);
        if step % STEPS == 0 { whole } else { whole * 10f64.powf(f64::from(step % STEPS) / f64::from(STEPS)) }
    })
}

/// Response times of a row.
#[derive(Debug, Default)]
pub struct Times {
    /// Microseconds at each percentile with enough requests beyond it, all repeats added; empty if no repeat has a log.
    pub spectrum: Vec<f64>,
    /// Of the repeat with the median throughput.
    pub heat: Option<HeatMap>,
}

/// Reads the logs of all repeats, an interval at a time.
pub fn times(row: &Row, store: &RunDirectory) -> Times {
    let (mut sum, mut heat) = (new_histogram(), Heat::default());
    let median = median_repeat(row);
    for repeat in row.rates.keys() {
        let Ok(log) = fs::read(store.trial(row.cell.id(), *repeat).join("latency.hlog")) else { continue };
        let is_median = Some(*repeat) == median;
        let read = hlog::each(&log, "response", |interval| {
            if is_median {
                heat.add(&interval);
            }
            interval.values.add_to(&mut sum)
        });
        if read.is_err() {
            return Times::default();
        }
    }
    let count = sum.len() as f64;
    let supported = odds().take_while(|odds| supports_quantile(count, 1.0 / odds));
    let spectrum = supported.map(|odds| significant(sum.value_at_quantile(1.0 - 1.0 / odds) as f64 / 1e3, 4)).collect();
    Times { spectrum, heat: heat.map() }
}

/// The repeat whose throughput is nearest to the median.
fn median_repeat(row: &Row) -> Option<u32> {
    let median = row.figures.rate?.median;
    let distance = |rate: &f64| (rate - median).abs();
    row.rates.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(repeat, _)| *repeat)
}

/// Most seconds shown; longer series are thinned evenly.
const MAX_POINTS: usize = 240;

/// Per-second figures, one list per figure; a list is empty if no second has the figure.
#[derive(Debug, Serialize)]
pub struct TimeSeries {
    repeat: u32,
    /// End of the warm-up, in seconds since the load began.
    warm: f64,
    /// Middle of each second, in seconds since the load began: a figure stands for the whole of it.
    at: Vec<f64>,
    rate: Vec<Option<f64>>,
    /// Response p99 of the second, in microseconds.
    p99: Vec<Option<f64>>,
    /// Server CPU, user and kernel, in percent of a core.
    cpu: Vec<Option<f64>>,
    /// Times in which the server was down or stopped by a limit.
    stops: Vec<Stop>,
}

/// In seconds since the load began.
#[derive(Debug, PartialEq, Serialize)]
struct Stop {
    from: f64,
    until: f64,
    words: String,
}

#[derive(Debug, Deserialize)]
struct Line {
    at_s: f64,
    #[serde(default)]
    warmup: bool,
    completed: Option<u64>,
    p99_us: Option<f64>,
    server_cpu_user_percent: Option<f64>,
    server_cpu_system_percent: Option<f64>,
    server_throttled_percent: Option<f64>,
}

/// Reads the series; `None` if there is none.
pub fn time_series(row: &Row, store: &RunDirectory) -> Option<TimeSeries> {
    let repeat = median_repeat(row)?;
    let trial = Directory::open(store.trial(row.cell.id(), repeat));
    let file = fs::File::open(trial.path().join("series.jsonl")).ok()?;
    // A line at a time: those of a day are large. Skips lines truncated by a crash.
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    let all: Vec<Line> = lines.filter_map(|line| serde_json::from_str(&line).ok()).collect();
    let begins = std::iter::once(0.0).chain(all.iter().map(|line| line.at_s));
    let lengths: Vec<f64> = all.iter().zip(begins).map(|(line, begin)| line.at_s - begin).collect();
    let mut stops: Vec<Stop> =
        trial.read_result().ok().and_then(|result| result.connections.outages).iter().flatten().map(down).collect();
    stops.extend(throttled(&all, &lengths));
    let warm = all.iter().filter(|line| line.warmup).map(|line| line.at_s).fold(0.0, f64::max);
    let step = all.len().div_ceil(MAX_POINTS).max(1);
    let kept: Vec<(&Line, f64)> = all.iter().zip(lengths).filter(|(_, length)| *length > 0.0).step_by(step).collect();
    let series = TimeSeries {
        repeat,
        warm: significant(warm, 5),
        at: kept.iter().map(|(line, length)| significant(line.at_s - length / 2.0, 5)).collect(),
        rate: list(&kept, 5, |line, length| Some(line.completed? as f64 / length)),
        p99: list(&kept, 4, |line, _| line.p99_us),
        cpu: list(&kept, 4, |line, _| Some(line.server_cpu_user_percent? + line.server_cpu_system_percent?)),
        stops,
    };
    (!kept.is_empty()).then_some(series)
}

fn down(outage: &Outage) -> Stop {
    Stop {
        from: significant(outage.at_s, 5),
        until: significant(outage.at_s + outage.down_s, 5),
        words: outage.to_string(),
    }
}

/// The seconds in which a quota stopped the server; adjacent ones are one stop.
fn throttled(lines: &[Line], lengths: &[f64]) -> Vec<Stop> {
    let mut runs: Vec<(f64, f64, f64)> = Vec::new();
    for (line, length) in lines.iter().zip(lengths) {
        let Some(percent) = line.server_throttled_percent.filter(|percent| *percent > 0.0) else { continue };
        let from = line.at_s - length;
        match runs.last_mut().filter(|(_, until, _)| (*until - from).abs() < 1e-6) {
            Some((_, until, most)) => (*until, *most) = (line.at_s, most.max(percent)),
            None => runs.push((from, line.at_s, percent)),
        }
    }
    let stop = |(from, until, percent): (f64, f64, f64)| Stop {
        from: significant(from, 5),
        until: significant(until, 5),
        words: format!("stopped by its CPU quota, in up to {percent:.0} % of the periods of a second"),
    };
    runs.into_iter().map(stop).collect()
}

fn list(lines: &[(&Line, f64)], digits: usize, figure: impl Fn(&Line, f64) -> Option<f64>) -> Vec<Option<f64>> {
    let value = |(line, length): &(&Line, f64)| figure(line, *length).filter(|value| value.is_finite());
    let all: Vec<_> = lines.iter().map(|line| value(line).map(|value| significant(value, digits))).collect();
    if all.iter().all(Option::is_none) { Vec::new() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_stopped_by_a_quota_are_one_stop_while_they_follow_each_other() {
        let line = |(at_s, percent): (f64, Option<f64>)| Line {
            at_s,
            warmup: false,
            completed: Some(1),
            p99_us: None,
            server_cpu_user_percent: None,
            server_cpu_system_percent: None,
            server_throttled_percent: percent,
        };
        let seconds =
            [(1.0, None), (2.0, Some(30.0)), (3.0, Some(70.0)), (4.0, Some(0.0)), (5.0, Some(10.0)), (5.5, None)];
        let lines: Vec<Line> = seconds.into_iter().map(line).collect();
        let stops = throttled(&lines, &[1.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
        let times: Vec<(f64, f64)> = stops.iter().map(|stop| (stop.from, stop.until)).collect();
        assert_eq!(times, [(1.0, 3.0), (4.0, 5.0)]);
        assert!(stops[0].words.contains("up to 70 %") && stops[1].words.contains("up to 10 %"), "{stops:?}");
    }

    #[test]
    fn powers_of_ten_are_exact() {
        let odds: Vec<f64> = odds().collect();
        assert!([1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6].iter().all(|round| odds.contains(round)), "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a < b));
    }
}
