//! Comparison of one figure: effect, interval, p values, conclusion.

use brunt_results::RunResult;
use brunt_results::figure::{self, Compared, Figure};
use brunt_statistics::ratio::{Effect, holm, paired, ratio};
use brunt_statistics::{CONFIDENCE, median, percentile_median, permutation};
use serde::Serialize;

/// Default margin: smaller differences do not matter.
pub const MARGIN: f64 = 0.03;
const CHANCE: f64 = 0.05;
/// Larger estimates of the repeats needed are not reported.
const MOST_REPEATS: f64 = 1000.0;

/// The figures that a comparison can be about.
pub fn comparable() -> impl Iterator<Item = &'static Figure> {
    figure::all().filter(|figure| figure.compared != Compared::Never)
}

/// Those that every comparison has, and those asked for.
pub fn compared(asked: &[&'static Figure]) -> impl Iterator<Item = &'static Figure> {
    comparable().filter(|figure| figure.compared == Compared::Always || asked.contains(figure))
}

/// The figure of one trial. Ratios require positive values.
fn value(figure: &Figure, result: &RunResult) -> Option<f64> {
    figure.supported(result).filter(|value| value.is_finite() && *value > 0.0)
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The interval lies within the margin.
    NoDifference,
    Different,
    /// Neither; with the estimated number of repeats that would decide, if it can be estimated.
    CannotTell {
        repeats: Option<u32>,
    },
    /// The interval of slices is wider than was asked for; with the number of rounds at which it would not be.
    Imprecise {
        repeats: Option<u32>,
    },
    /// The generator was full in the slices of the faster target.
    ClientLimited,
    /// Requests failed.
    Errors,
}

impl Conclusion {
    /// Whether more repeats would not help.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::ClientLimited | Self::Errors)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    pub figure: &'static Figure,
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub p: Option<f64>,
    /// p value of the t test, adjusted for multiple comparisons (Holm).
    #[serde(rename = "p_all")]
    pub p_adjusted: Option<f64>,
    #[serde(rename = "answer")]
    pub conclusion: Conclusion,
    #[serde(skip)]
    pub(super) repeats: usize,
}

/// `None` if no trial has the figure. With `in_pairs`, `a[i]` belongs to `b[i]`. `conclude` draws the conclusion later.
pub fn compare_metric(
    figure: &'static Figure,
    a: &[&RunResult],
    b: &[&RunResult],
    in_pairs: bool,
) -> Option<MetricComparison> {
    let values = |results: &[&RunResult]| results.iter().map(|result| value(figure, result)).collect::<Vec<_>>();
    let (all_a, all_b) = (values(a), values(b));
    if all_a.iter().chain(&all_b).all(Option::is_none) {
        return None;
    }
    let present = |values: &[Option<f64>]| values.iter().flatten().copied().collect::<Vec<f64>>();
    let (a, b) = (present(&all_a), present(&all_b));
    // Trials without a percentile have few requests: leaving them out would bias the set.
    let is_whole = a.len() == all_a.len() && b.len() == all_b.len();
    let effect = if in_pairs { paired(&a, &b, CONFIDENCE) } else { ratio(&a, &b, CONFIDENCE) };
    let effect = effect.filter(|_| is_whole);
    let p = || if in_pairs { permutation::paired(&a, &b, 1) } else { permutation::p(&a, &b, 1) };
    let middle = |values: &[Option<f64>]| match figure.quantile() {
        Some(_) => percentile_median(values.iter().copied()),
        None => median(values.iter().copied()),
    };
    Some(MetricComparison {
        figure,
        a: middle(&all_a),
        b: middle(&all_b),
        ratio: effect.map(|effect| effect.ratio),
        interval: effect.map(|Effect { interval, .. }| [interval.low, interval.high]),
        p: effect.and_then(|_| p()),
        p_adjusted: effect.map(|effect| effect.p),
        conclusion: Conclusion::CannotTell { repeats: None },
        repeats: a.len().min(b.len()),
    })
}

pub(super) fn conclude(findings: &mut [&mut MetricComparison], margin: f64) {
    let raised = holm(&findings.iter().filter_map(|finding| finding.p_adjusted).collect::<Vec<_>>());
    let compared = findings.iter_mut().filter(|finding| finding.p_adjusted.is_some());
    for (finding, p_adjusted) in compared.zip(raised) {
        finding.p_adjusted = Some(p_adjusted);
        finding.conclusion = finding.follows(margin);
    }
}

impl MetricComparison {
    fn follows(&self, margin: f64) -> Conclusion {
        let (Some([low, high]), Some(p), Some(p_adjusted)) = (self.interval, self.p, self.p_adjusted) else {
            return Conclusion::CannotTell { repeats: None };
        };
        // On a logarithmic scale half and double are equally far.
        let (low, high, margin) = (low.ln(), high.ln(), margin.ln_1p());
        if -margin <= low && high <= margin {
            return Conclusion::NoDifference;
        }
        // The tests fail differently: the t test assumes normal logarithms, the permutation test lacks power for few
        // values.
        if p <= CHANCE && p_adjusted <= CHANCE {
            return Conclusion::Different;
        }
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        // The interval must shrink to fit into the margin, or to exclude 1.
        let room = (margin - middle.abs()).max(middle.abs());
        let now = self.repeats as f64;
        let repeats = (now * (half / room).powi(2)).max(now * 1.5).max(4.0).ceil();
        Conclusion::CannotTell { repeats: (repeats <= MOST_REPEATS).then_some(repeats as u32) }
    }

    /// Relative change from A to B: -0.05 is 5 % less.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::LatencySummary;

    fn compared(a: &[f64], b: &[f64], in_pairs: bool) -> MetricComparison {
        let trial = |rate: &f64| {
            let mut result = RunResult::new("test");
            result.requests.rate = *rate;
            result
        };
        let [a, b] = [a, b].map(|rates| rates.iter().map(trial).collect::<Vec<_>>());
        let [a, b] = [&a, &b].map(|results| results.iter().collect::<Vec<_>>());
        let mut finding = compare_metric(&figure::RATE, &a, &b, in_pairs).unwrap();
        conclude(&mut [&mut finding], MARGIN);
        finding
    }

    const STEADY: [f64; 6] = [1000.0, 1004.0, 997.0, 1001.0, 1006.0, 995.0];

    #[test]
    fn there_are_three_answers() {
        let times = |factor: f64| STEADY.map(|rate| rate * factor);
        assert_eq!(compared(&STEADY, &times(1.002), false).conclusion, Conclusion::NoDifference);
        let slower = compared(&STEADY, &times(0.95), false);
        assert_eq!(slower.conclusion, Conclusion::Different);
        assert!((slower.change().unwrap() + 0.05).abs() < 1e-9);
        let noisy = [900.0, 1100.0, 1000.0, 1200.0, 850.0, 1020.0];
        let Conclusion::CannotTell { repeats: Some(repeats) } = compared(&STEADY, &noisy, false).conclusion else {
            panic!("noise is no answer");
        };
        assert!(repeats > 6, "{repeats}");
    }

    #[test]
    fn in_pairs_what_both_sides_meet_alike_makes_no_noise() {
        let spells = [1.0, 0.6, 0.8, 1.0, 0.7, 0.9];
        let met = |factor: f64| std::iter::zip(STEADY, spells).map(move |(rate, spell)| rate * factor * spell);
        let a: Vec<f64> = met(1.0).collect();
        let b: Vec<f64> = met(0.9).zip(STEADY).map(|(rate, steady)| rate * steady / 1e3).collect();
        let of = |in_pairs: bool| compared(&a, &b, in_pairs).conclusion;
        assert_eq!(of(true), Conclusion::Different);
        assert!(matches!(of(false), Conclusion::CannotTell { .. }));
    }

    #[test]
    fn three_repeats_cannot_show_a_difference_and_one_nothing() {
        let three = compared(&[100.0, 101.0, 102.0], &[50.0, 51.0, 52.0], false);
        assert_eq!((three.p, three.conclusion), (Some(0.1), Conclusion::CannotTell { repeats: Some(5) }));
        let one = compared(&[100.0], &[50.0], false);
        assert_eq!((one.a, one.b, one.ratio), (Some(100.0), Some(50.0), None));
        assert_eq!(one.conclusion, Conclusion::CannotTell { repeats: None });
    }

    #[test]
    fn a_percentile_that_some_repeat_lacks_is_not_compared() {
        let with = |count: u64| {
            let mut result = RunResult::new("test");
            result.latency.response = LatencySummary { count, p99_us: Some(50.0), ..Default::default() };
            result
        };
        let (enough, few) = (with(1000), with(999));
        let finding = compare_metric(&figure::P99, &[&enough, &enough], &[&enough, &few], false).unwrap();
        assert_eq!((finding.a, finding.b, finding.ratio), (Some(50.0), None, None));
        assert_eq!(compare_metric(&figure::COST, &[&few], &[&few], false), None);
    }
}
