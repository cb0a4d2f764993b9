//! Comparison of one figure of trials: both medians, their ratio, the verdict.

use brunt_results::RunResult;
use brunt_results::comparison::{CHANCE, Ratio, UNKNOWN, Verdict};
use brunt_results::figure::{self, Compared, Figure};
use brunt_statistics::ratio::{holm, paired, ratio};
use brunt_statistics::{CONFIDENCE, median, percentile_median, permutation};
use serde::{Serialize, Serializer};

/// Default margin: smaller differences do not matter.
pub const MARGIN: f64 = 0.03;
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

/// The figure of one trial. Ratios require positive values, and none that is a lower bound.
fn value(figure: &Figure, result: &RunResult) -> Option<f64> {
    figure.supported(result).filter(|value| value.is_finite() && *value > 0.0 && !figure.is_bound(result))
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricComparison {
    pub figure: &'static Figure,
    /// Medians.
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// Absent where either side has too few values.
    pub ratio: Option<Ratio>,
}

/// The parts of the ratio beside the medians. The sample of any comparison is called a repeat, also where it is a round of slices.
impl Serialize for MetricComparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            figure: &'static Figure,
            a: Option<f64>,
            b: Option<f64>,
            ratio: Option<f64>,
            interval: Option<[f64; 2]>,
            p: Option<f64>,
            p_all: Option<f64>,
            #[serde(serialize_with = "repeats")]
            answer: &'a Verdict,
        }
        fn repeats<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
            verdict.write("repeats", serializer)
        }
        let ratio = self.ratio.as_ref();
        let written = Written {
            figure: self.figure,
            a: self.a,
            b: self.b,
            ratio: ratio.map(|ratio| ratio.ratio),
            interval: ratio.map(|ratio| [ratio.low, ratio.high]),
            p: ratio.map(|ratio| ratio.p),
            p_all: ratio.map(|ratio| ratio.p_adjusted),
            answer: self.verdict(),
        };
        written.serialize(serializer)
    }
}

impl MetricComparison {
    pub fn verdict(&self) -> &Verdict {
        self.ratio.as_ref().map_or(&UNKNOWN, |ratio| &ratio.verdict)
    }
}

/// `None` if no trial has the figure. With `in_pairs`, `a[i]` belongs to `b[i]`. `conclude` gives the verdict later.
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
    let ratio = effect.and_then(|effect| {
        Some(Ratio {
            figure,
            ratio: effect.ratio,
            low: effect.interval.low,
            high: effect.interval.high,
            p: if in_pairs { permutation::paired(&a, &b, 1) } else { permutation::p(&a, &b, 1) }?,
            p_adjusted: effect.p,
            samples: a.len().min(b.len()),
            starts: None,
            verdict: UNKNOWN,
        })
    });
    let middle = |values: &[Option<f64>]| match figure.quantile() {
        Some(_) => percentile_median(values.iter().copied()),
        None => median(values.iter().copied()),
    };
    Some(MetricComparison { figure, a: middle(&all_a), b: middle(&all_b), ratio })
}

/// Adjusts the p values of all ratios, and judges each.
pub(super) fn conclude(findings: &mut [&mut MetricComparison], margin: f64) {
    let mut ratios: Vec<&mut Ratio> = findings.iter_mut().filter_map(|finding| finding.ratio.as_mut()).collect();
    let raised = holm(&ratios.iter().map(|ratio| ratio.p_adjusted).collect::<Vec<_>>());
    for (ratio, p_adjusted) in ratios.iter_mut().zip(raised) {
        ratio.p_adjusted = p_adjusted;
        ratio.verdict = verdict(ratio, margin);
    }
}

fn verdict(ratio: &Ratio, margin: f64) -> Verdict {
    if ratio.is_within(margin) {
        return Verdict::NoDifference;
    }
    // The tests fail differently: the t test assumes normal logarithms, the permutation test lacks power for few
    // values.
    if ratio.p <= CHANCE && ratio.p_adjusted <= CHANCE {
        return Verdict::Different;
    }
    let (low, high) = (ratio.low.ln(), ratio.high.ln());
    let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
    // The interval must shrink to fit into the margin, or to exclude 1.
    let room = (margin.ln_1p() - middle.abs()).max(middle.abs());
    let now = ratio.samples as f64;
    let repeats = (now * (half / room).powi(2)).max(now * 1.5).max(4.0).ceil();
    Verdict::CannotTell { needed: (repeats <= MOST_REPEATS).then_some(repeats as usize) }
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
        assert_eq!(*compared(&STEADY, &times(1.002), false).verdict(), Verdict::NoDifference);
        let slower = compared(&STEADY, &times(0.95), false);
        assert_eq!(*slower.verdict(), Verdict::Different);
        assert!((slower.ratio.unwrap().change() + 0.05).abs() < 1e-9);
        let noisy = [900.0, 1100.0, 1000.0, 1200.0, 850.0, 1020.0];
        let Verdict::CannotTell { needed: Some(repeats) } = *compared(&STEADY, &noisy, false).verdict() else {
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
        let of = |in_pairs: bool| compared(&a, &b, in_pairs).verdict().clone();
        assert_eq!(of(true), Verdict::Different);
        assert!(matches!(of(false), Verdict::CannotTell { .. }));
    }

    #[test]
    fn three_repeats_cannot_show_a_difference_and_one_nothing() {
        let three = compared(&[100.0, 101.0, 102.0], &[50.0, 51.0, 52.0], false);
        let three = three.ratio.unwrap();
        assert_eq!((three.p, three.verdict), (0.1, Verdict::CannotTell { needed: Some(5) }));
        let one = compared(&[100.0], &[50.0], false);
        assert_eq!((one.a, one.b, &one.ratio, one.verdict()), (Some(100.0), Some(50.0), &None, &UNKNOWN));
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
