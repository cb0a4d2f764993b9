//! How long a slice has to be. A target that had no load has cold caches and a deep sleep behind it, so the first part of a slice
//! costs more than the rest. A slice is long enough if twice the length changes CPU time a request by less than a hundredth: if a
//! second slice right after it costs nearly the same.

use super::record::CostSlice;
use brunt_statistics::student::{mean, two_sided_quantile};
use brunt_statistics::{Interval, median};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The length that is tried first.
pub const FIRST: Duration = Duration::from_millis(1500);
/// Slices are not made longer than this.
pub const LONGEST: Duration = Duration::from_secs(6);
/// Share by which twice the length may change CPU time a request.
pub const SMALL: f64 = 0.01;
/// Pairs of slices of each target before an answer, and at most.
pub const LEAST_PAIRS: usize = 4;
pub const MOST_PAIRS: usize = 12;
/// Of the interval of a change.
const CONFIDENCE: f64 = 0.9;
/// That there is a change, for all targets together. Each look after another pair is a chance to be wrong.
const CERTAIN: f64 = 0.99;

/// By what twice the length of a slice changes CPU time a request, as a share, of the target where it is most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub target: String,
    pub share: f64,
    /// At 90 %.
    pub interval: Interval,
    pub pairs: usize,
}

impl Change {
    /// Whether it is certain that the change is small.
    pub fn is_small(&self) -> bool {
        self.interval.low > -SMALL && self.interval.high < SMALL
    }
}

/// What to do after a round.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Another pair of slices of each target.
    More,
    /// Slices of twice the length.
    Longer,
    /// The length is long enough, as far as is known.
    Enough,
}

/// A target with the logarithms of CPU time a request at twice the length over that at the length.
pub type Ratios = (String, Vec<f64>);

/// The ratios of a target. A pair is a slice and the second one in a row.
pub fn ratios(slices: &[CostSlice], target: &str) -> Ratios {
    let ratio = |pair: &[CostSlice]| {
        let [first, second] = pair else { return None };
        let is_pair =
            second.second && first.slice.target == target && !first.slice.is_void() && !second.slice.is_void();
        let (cpu, more_cpu) = (first.slice.server_cpu_us?, second.slice.server_cpu_us?);
        let (replies, more) = (first.slice.replies as f64, second.slice.replies as f64);
        let ratio = ((cpu + more_cpu) / (replies + more) / (cpu / replies)).ln();
        (is_pair && ratio.is_finite()).then_some(ratio)
    };
    (target.to_owned(), slices.windows(2).filter_map(ratio).collect())
}

/// Judges a length. Targets without any ratio are not metered.
pub fn judge(length: Duration, of_targets: &[Ratios]) -> Next {
    let counted: Vec<&Ratios> = of_targets.iter().filter(|(_, ratios)| !ratios.is_empty()).collect();
    let fewest = counted.iter().map(|(_, ratios)| ratios.len()).min().unwrap_or(MOST_PAIRS);
    if fewest < LEAST_PAIRS {
        return Next::More;
    }
    let doubt = (1.0 - CERTAIN) / counted.len() as f64;
    let is_large = |(target, ratios): &&Ratios| {
        let change = change(target, ratios, 1.0 - doubt);
        change.is_some_and(|it| it.share.abs() >= SMALL && (it.interval.low > 0.0 || it.interval.high < 0.0))
    };
    let is_small = |(target, ratios): &&Ratios| change(target, ratios, CONFIDENCE).is_some_and(|it| it.is_small());
    match () {
        () if counted.iter().all(is_small) || fewest >= MOST_PAIRS => Next::Enough,
        () if 2 * length <= LONGEST && counted.iter().any(is_large) => Next::Longer,
        () => Next::More,
    }
}

/// The largest change, of the targets with two pairs and more.
pub fn most(of_targets: &[Ratios]) -> Option<Change> {
    let changes = of_targets.iter().filter_map(|(target, ratios)| change(target, ratios, CONFIDENCE));
    changes.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs()))
}

/// The mean of the logarithms, with Student's interval; `None` for fewer than two.
fn change(target: &str, ratios: &[f64], confidence: f64) -> Option<Change> {
    let (mean, square) = mean(ratios)?;
    let half = two_sided_quantile(confidence, ratios.len() as f64 - 1.0) * square.sqrt();
    let interval = Interval { low: (mean - half).exp_m1(), high: (mean + half).exp_m1() };
    Some(Change { target: target.to_owned(), share: mean.exp_m1(), interval, pairs: ratios.len() })
}

/// The rate at which lengths are judged: the lowest, where a slice has the fewest requests to share what its begin costs.
pub fn rate_of(rates: &[f64]) -> Option<f64> {
    rates.iter().copied().reduce(f64::min)
}

/// The rate at which targets are warmed up.
pub fn warm_up_rate(rates: &[f64]) -> Option<f64> {
    median(rates.iter().copied().map(Some))
}
