//! How long a slice has to be. A target that had no load has cold caches and a deep sleep behind it, so the first part of a slice
//! costs more than the rest. A slice is long enough if one of twice the length changes CPU time a request by less than a
//! hundredth.

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
pub const MOST_PAIRS: usize = 6;
const CONFIDENCE: f64 = 0.9;

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

    /// Whether there certainly is one, and it is not small.
    fn is_large(&self) -> bool {
        self.share.abs() >= SMALL && (self.interval.low > 0.0 || self.interval.high < 0.0)
    }
}

/// What to do after a pair of slices of each target.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Another pair of each.
    More,
    /// Slices of twice the length.
    Longer,
    /// The length is long enough, as far as is known; `None` if no target has CPU time.
    Enough(Option<Change>),
}

/// Judges a length. `pairs` are the targets with the logarithms of CPU time a request at twice the length over that at the
/// length; once the time `is_over`, what they show is the answer.
pub fn judge(length: Duration, pairs: &[(&str, Vec<f64>)], is_over: bool) -> Next {
    let counted = || pairs.iter().filter(|(_, ratios)| !ratios.is_empty());
    let Some(fewest) = counted().map(|(_, ratios)| ratios.len()).min() else { return Next::Enough(None) };
    if fewest < LEAST_PAIRS {
        return if is_over { Next::Enough(most(pairs)) } else { Next::More };
    }
    let changes: Vec<Change> = counted().filter_map(|(target, ratios)| change(target, ratios)).collect();
    let is_large = changes.iter().any(Change::is_large);
    let most = most(pairs);
    match () {
        () if changes.iter().all(Change::is_small) => Next::Enough(most),
        () if is_large && !is_over && 2 * length <= LONGEST => Next::Longer,
        () if is_large || is_over || fewest >= MOST_PAIRS => Next::Enough(most),
        () => Next::More,
    }
}

/// The largest change, of the targets with two pairs and more.
fn most(pairs: &[(&str, Vec<f64>)]) -> Option<Change> {
    let changes = pairs.iter().filter_map(|(target, ratios)| change(target, ratios));
    changes.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs()))
}

/// The mean of the logarithms, with Student's interval; `None` for fewer than two.
fn change(target: &str, ratios: &[f64]) -> Option<Change> {
    let (mean, square) = mean(ratios)?;
    let half = two_sided_quantile(CONFIDENCE, ratios.len() as f64 - 1.0) * square.sqrt();
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
