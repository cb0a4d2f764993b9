//! Centre of values that spread symmetrically around it: the Hodges-Lehmann estimate (Hodges and Lehmann 1963), its interval
//! and the p value of the signed-rank test (Wilcoxon 1945). No distribution is assumed.
//!
//! A *Walsh average* is the mean of two values, or of one with itself; `n` values have `n (n + 1) / 2`. The estimate is their
//! median, the ends of the interval are the averages at two ranks (Tukey 1949; Hollander and Wolfe 1999, 3.3).

use super::Interval;
use statrs::function::erf::erfc;
use std::f64::consts::SQRT_2;

/// Up to this many values tails are those of the exact distribution, beyond of the normal one with continuity correction.
const EXACT: usize = 30;

/// The estimate and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    pub estimate: f64,
    pub interval: Interval,
}

/// Two-sided tail of the standard normal distribution.
pub fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The median of the Walsh averages; `None` without values, or if one is not finite.
pub fn estimate(values: &[f64]) -> Option<f64> {
    Walsh::new(values).map(|walsh| walsh.median())
}

/// The estimate with the interval that a normal estimate would have at `z` standard errors: 1.96 for 95 %. `None` if no pair of
/// ranks reaches that confidence, as for fewer than six values at 95 %.
pub fn centre(values: &[f64], z: f64) -> Option<Centre> {
    let walsh = Walsh::new(values)?;
    let rank = lower_rank(values.len(), z)?;
    let interval = Interval { low: walsh.at(rank), high: walsh.at(walsh.count() + 1 - rank) };
    Some(Centre { estimate: walsh.median(), interval })
}

/// Values closer than this share of the largest are equal: they differ by rounding.
const ROUNDING: f64 = 1e-12;

/// Two-sided p value of the signed-rank test that the centre is 0. Zeros are left out, ties get their mean rank. 1 if nothing
/// is left.
pub fn p(values: &[f64]) -> f64 {
    let rounding = ROUNDING * values.iter().fold(0.0, |largest, value| value.abs().max(largest));
    let mut sizes: Vec<f64> = values.iter().copied().filter(|value| value.abs() > rounding).collect();
    sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Ranks are doubled, so that mean ranks of ties are whole.
    let (mut ranks, mut positive) = (Vec::with_capacity(sizes.len()), 0);
    for tied in sizes.chunk_by(|a, b| b.abs() - a.abs() <= rounding) {
        let rank = 2 * ranks.len() + tied.len() + 1;
        positive += rank * tied.iter().filter(|value| **value > 0.0).count();
        ranks.resize(ranks.len() + tied.len(), rank);
    }
    let all: usize = ranks.iter().sum();
    let smaller = positive.min(all - positive);
    if ranks.len() <= EXACT {
        let ways = subset_sums(&ranks);
        let tail: f64 = ways[..=smaller].iter().sum();
        return (2.0 * tail / 2f64.powi(ranks.len() as i32)).min(1.0);
    }
    let deviation = ranks.iter().map(|rank| (rank * rank) as f64).sum::<f64>().sqrt() / 2.0;
    let distance = (all as f64 / 2.0 - smaller as f64 - 1.0).max(0.0);
    normal_two_sided(distance / deviation)
}

/// By sum: in how many ways some of the numbers add up to it.
fn subset_sums(numbers: &[usize]) -> Vec<f64> {
    let all: usize = numbers.iter().sum();
    let mut ways = vec![0.0; all + 1];
    ways[0] = 1.0;
    let mut reached = 0;
    for number in numbers {
        reached += number;
        for sum in (*number..=reached).rev() {
            ways[sum] += ways[sum - number];
        }
    }
    ways
}

/// Rank, from 1, of the lower end among the Walsh averages: the largest `c` with `P(T < c)` at most the tail beyond `z`, where
/// `T` is the signed-rank statistic.
fn lower_rank(n: usize, z: f64) -> Option<usize> {
    let tail = normal_two_sided(z) / 2.0;
    let rank = if n <= EXACT {
        let ways = subset_sums(&(1..=n).collect::<Vec<_>>());
        let all = 2f64.powi(n as i32);
        let mut below = 0.0;
        ways.iter()
            .take_while(|ways| {
                below += **ways;
                below <= tail * all * (1.0 + 1e-9)
            })
            .count()
    } else {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        (n * (n + 1.0) / 4.0 - z * deviation + 0.5).max(0.0) as usize
    };
    (rank > 0).then_some(rank)
}

/// The Walsh averages in order, found without making them: their number below a bound is counted in `n` steps.
struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    fn new(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self { sorted })
    }

    fn count(&self) -> usize {
        self.sorted.len() * (self.sorted.len() + 1) / 2
    }

    fn median(&self) -> f64 {
        let count = self.count();
        if count % 2 == 1 {
            return self.at(count / 2 + 1);
        }
        let (low, high) = (self.at(count / 2), self.at(count / 2 + 1));
        low + (high - low) / 2.0
    }

    /// How many pairs have a sum of at most `sum`.
    fn up_to(&self, sum: f64) -> usize {
        let (mut count, mut end) = (0, self.sorted.len());
        for (index, value) in self.sorted.iter().enumerate() {
            while end > index && value + self.sorted[end - 1] > sum {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    /// The sums of pairs above `low` and up to `high`.
    fn between(&self, low: f64, high: f64) -> Vec<f64> {
        let (mut from, mut to) = (self.sorted.len(), self.sorted.len());
        let mut sums = Vec::new();
        for (index, value) in self.sorted.iter().enumerate() {
            while to > index && value + self.sorted[to - 1] > high {
                to -= 1;
            }
            while from > index && value + self.sorted[from - 1] > low {
                from -= 1;
            }
            if to <= index {
                break;
            }
            sums.extend(self.sorted[from.max(index)..to].iter().map(|other| value + other));
        }
        sums
    }

    /// The average at a rank from 1: bounds close in by bisection and interpolation in turn, until few enough averages lie
    /// between them to be made.
    fn at(&self, rank: usize) -> f64 {
        let (mut low, mut high) = (2.0 * self.sorted[0], 2.0 * self.sorted[self.sorted.len() - 1]);
        let (mut to_low, mut to_high) = (self.up_to(low), self.count());
        if to_low >= rank {
            return low / 2.0;
        }
        let few = 2 * self.sorted.len();
        for turn in 0..100 {
            let share = if turn % 2 == 0 { (rank - to_low) as f64 / (to_high - to_low) as f64 } else { 0.5 };
            let middle = low + (high - low) * share;
            // Without a number between them the bounds have met equal averages.
            if to_high - to_low <= few || middle <= low || middle >= high {
                break;
            }
            match self.up_to(middle) {
                count if count >= rank => (high, to_high) = (middle, count),
                count => (low, to_low) = (middle, count),
            }
        }
        let mut sums = self.between(low, high);
        *sums.select_nth_unstable_by(rank - to_low - 1, f64::total_cmp).1 / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        let of = |n| lower_rank(n, 1.959_964);
        // Conover 1999, table A12, w 0.025; none for five.
        let table = [(6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26), (20, 53), (25, 90), (30, 138)];
        assert_eq!(table.map(|(n, _)| of(n)), table.map(|(_, rank)| Some(rank)));
        assert_eq!(of(5), None);
        // The exact rank of 50 is 435; the normal approximation has one less, a wider interval.
        assert_eq!(of(50), Some(434));
    }

    #[test]
    fn the_published_example() {
        // Hollander and Wolfe 1999, table 3.1: depression scale factor before and after a tranquilizer, in thousandths.
        let before = [1830, 500, 1620, 2480, 1680, 1880, 1550, 3060, 1300];
        let after = [878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290];
        let change: Vec<f64> = std::iter::zip(before, after).map(|(before, after)| f64::from(after - before)).collect();
        let found = centre(&change, 1.959_964).unwrap();
        assert_eq!((found.estimate, found.interval), (-460.0, Interval { low: -786.0, high: -10.0 }));
        assert_eq!(p(&change), 2.0 * 10.0 / 512.0);
    }

    #[test]
    fn ties_zeros_and_too_few_values() {
        assert_eq!((p(&[]), p(&[0.0, 0.0]), p(&[1.0, -1.0])), (1.0, 1.0, 1.0));
        // Six of one sign, all equal: one of 64 ways to each side.
        assert_eq!(p(&[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]), 2.0 / 64.0);
        // Equal but for rounding.
        let rounded = [0.1 + 0.2, 0.3, -0.5, 0.2, 1e-17, 0.7, 0.8];
        assert_eq!(p(&rounded), p(&[0.3, 0.3, -0.5, 0.2, 0.0, 0.7, 0.8]));
        let equal = centre(&[0.0; 40], 1.96).unwrap();
        assert_eq!((equal.estimate, equal.interval), (0.0, Interval { low: 0.0, high: 0.0 }));
        assert_eq!((estimate(&[]), estimate(&[1.0, f64::NAN]), estimate(&[3.0])), (None, None, Some(3.0)));
        assert_eq!(centre(&[1.0, 2.0, 3.0, 4.0, 5.0], 1.96), None);
    }

    #[test]
    fn the_normal_tail_continues_the_exact_one() {
        // The same values with and without one more small pair: 30 are exact, 32 are not.
        let values: Vec<f64> = (1..=30).map(|i| if i % 3 == 0 { -f64::from(i) } else { f64::from(i) }).collect();
        let more: Vec<f64> = values.iter().copied().chain([0.5, -0.6]).collect();
        assert!((p(&more) / p(&values) - 1.0).abs() < 0.15, "{} {}", p(&more), p(&values));
    }

    proptest! {
        #[test]
        fn walsh_averages_by_counting_are_those_by_sorting(
            values in proptest::collection::vec(prop_oneof![-1e3f64..1e3, (-3i8..3).prop_map(f64::from)], 1..40),
        ) {
            let of = |(index, value): (usize, &f64)| values[index..].iter().map(|other| (value + other) / 2.0).collect::<Vec<_>>();
            let mut averages: Vec<f64> = values.iter().enumerate().flat_map(of).collect();
            averages.sort_by(f64::total_cmp);
            let walsh = Walsh::new(&values).unwrap();
            for (index, average) in averages.iter().enumerate() {
                prop_assert_eq!(walsh.at(index + 1), *average);
            }
        }

        #[test]
        fn shift_scale_and_sign_carry_over(
            values in proptest::collection::vec(-1e3f64..1e3, 6..60), shift in -1e3f64..1e3, scale in 0.01f64..100.0,
        ) {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs() + b.abs()) * 1e2;
            let here = centre(&values, 2.1).unwrap();
            let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
            let there = centre(&moved, 2.1).unwrap();
            prop_assert!(near(there.estimate, here.estimate * scale + shift));
            prop_assert!(near(there.interval.low, here.interval.low * scale + shift));
            let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
            let mirror = centre(&mirrored, 2.1).unwrap();
            prop_assert!(near(mirror.estimate, -here.estimate) && near(mirror.interval.low, -here.interval.high));
            prop_assert_eq!(p(&mirrored), p(&values));
            // The interval excludes 0 where the test rejects.
            let outside = here.interval.low > 0.0 || here.interval.high < 0.0;
            let level = normal_two_sided(2.1);
            prop_assert!(outside == (p(&values) <= level) || (p(&values) / level - 1.0).abs() < 0.1);
        }
    }
}
