//! One figure of a cell over its repeats.

use super::trials::Group;
use brunt_results::{RunResult, figure};
use brunt_statistics::{CONFIDENCE, median_interval, spread};

pub(super) struct Estimate {
    pub median: f64,
    /// The 95 % interval of the median from six repeats on, else the range.
    pub low: f64,
    pub high: f64,
}

/// `None` if no repeat has the figure.
pub(super) fn of(group: &Group, figure: impl Fn(&RunResult) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = group.trials.iter().filter_map(|trial| figure(&trial.result)).collect();
    let range = spread(values.iter().copied().map(Some))?;
    let interval = median_interval(&values, CONFIDENCE).map(|interval| (interval.low, interval.high));
    let (low, high) = interval.unwrap_or((range.low, range.high));
    Some(Estimate { median: range.median, low, high })
}

/// A figure of [`super::figures`] in its unit; a time is one of the distribution `tag`.
pub(super) fn figure(result: &RunResult, tag: &str, name: &str) -> Option<f64> {
    let times = match tag {
        "service" => &result.latency.service,
        "lag" => &result.latency.lag,
        "error" => &result.latency.error,
        _ => &result.latency.response,
    };
    let figure = figure::find(name)?;
    match figure.times {
        // Formats of single figures cannot say that one is a lower bound.
        Some(of) => times.figure(of.statistic).flatten().filter(|_| !times.is_bound(of.statistic)),
        None => (figure.of)(result),
    }
}
