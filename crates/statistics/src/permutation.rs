//! Permutation tests of the difference between two sets of repeats (Fisher 1935; Phipson and Smyth 2010).
//!
//! Without a difference every division of the values into two sets is equally likely; the p value is the share of divisions
//! with a difference at least as large. Makes no assumption about the distribution of the values.

use super::below;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Up to this many divisions all are enumerated: ten and ten values have 184,756.
const MAX_ENUMERATED: u64 = 200_000;
/// Divisions sampled otherwise.
const SAMPLES: u32 = 10_000;

/// Two-sided p value of the difference of mean logarithms. `None` if a set is empty or a value is not above zero. `seed`
/// matters only where divisions are sampled.
pub fn p(a: &[f64], b: &[f64], seed: u64) -> Option<f64> {
    let mut values: Vec<f64> = a.iter().chain(b).map(|value| value.ln()).collect();
    if a.is_empty() || b.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    // The sum of one side determines the difference of the means, because the total is constant.
    let expected = values.iter().sum::<f64>() / values.len() as f64 * b.len() as f64;
    let off = |sum: f64| (sum - expected).abs();
    let observed = off(values[a.len()..].iter().sum());
    // Tolerates rounding: equal divisions summed in another order must compare equal.
    let reaches = |sum: f64| off(sum) >= observed - 1e-12 * expected.abs().max(1.0);
    if divisions(values.len() as u64, b.len() as u64) <= MAX_ENUMERATED {
        let (mut reached, mut all) = (0u64, 0u64);
        each_sum(&values, b.len(), 0.0, &mut |sum| {
            all += 1;
            reached += u64::from(reaches(sum));
        });
        return Some(reached as f64 / all as f64);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut reached = 0;
    for _ in 0..SAMPLES {
        // Fisher-Yates shuffle of one side.
        for index in 0..b.len() {
            let from = index + below((values.len() - index) as u64, &mut random) as usize;
            values.swap(index, from);
        }
        reached += u32::from(reaches(values[..b.len()].iter().sum()));
    }
    // The observed division is one of them.
    Some(f64::from(reached + 1) / f64::from(SAMPLES + 1))
}

/// The same for pairs `a[i]`, `b[i]`: permutes the order within each pair. `None` also if the sets differ in length.
pub fn paired(a: &[f64], b: &[f64], seed: u64) -> Option<f64> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.ln() - a.ln()).collect();
    if a.is_empty() || a.len() != b.len() || ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    let observed = ratios.iter().sum::<f64>().abs();
    let all: f64 = ratios.iter().map(|ratio| ratio.abs()).sum();
    let reaches = |sum: f64| sum.abs() >= observed - 1e-12 * all.max(1.0);
    let ways = 1u64.checked_shl(ratios.len() as u32).unwrap_or(u64::MAX);
    if ways <= MAX_ENUMERATED {
        let mut reached = 0u64;
        each_signed_sum(&ratios, 0.0, &mut |sum| reached += u64::from(reaches(sum)));
        return Some(reached as f64 / ways as f64);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sampled =
        || ratios.iter().map(|ratio| if below(2, &mut random) == 1 { -ratio } else { *ratio }).sum::<f64>();
    let reached = (0..SAMPLES).filter(|_| reaches(sampled())).count();
    Some((reached + 1) as f64 / f64::from(SAMPLES + 1))
}

/// The smallest number of values on each side with which [`p`] can be below `level`, however far the sides are apart.
pub fn fewest(level: f64) -> usize {
    // Two divisions are extreme: all large values on one side, or on the other.
    (2..).find(|n| 2.0 / divisions(2 * n, *n) as f64 <= level).unwrap_or(2) as usize
}

/// Binomial coefficient `n` over `k`, or some number above [`MAX_ENUMERATED`] if it is larger.
fn divisions(n: u64, k: u64) -> u64 {
    let mut ways = 1u64;
    for i in 0..k.min(n - k) {
        ways = ways * (n - i) / (i + 1);
        if ways > MAX_ENUMERATED {
            break;
        }
    }
    ways
}

/// Calls `visit` with the sum of every choice of `k` values.
fn each_sum(values: &[f64], k: usize, sum: f64, visit: &mut dyn FnMut(f64)) {
    match values.split_first() {
        _ if k == 0 => visit(sum),
        Some((first, rest)) if values.len() >= k => {
            each_sum(rest, k - 1, sum + first, visit);
            each_sum(rest, k, sum, visit);
        }
        _ => {}
    }
}

/// Calls `visit` with the sum of the values, in their order, for every choice of their signs.
fn each_signed_sum(values: &[f64], sum: f64, visit: &mut dyn FnMut(f64)) {
    match values.split_first() {
        None => visit(sum),
        Some((first, rest)) => {
            each_signed_sum(rest, sum + first, visit);
            each_signed_sum(rest, sum - first, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_values_than_the_fewest_never_have_so_small_a_p() {
        for level in [0.05, 0.01] {
            let n = fewest(level);
            let apart = |n: usize| p(&vec![1.0; n], &vec![1e9; n], 1).unwrap();
            assert!(apart(n) <= level && apart(n - 1) > level, "{n} for {level}");
        }
    }

    #[test]
    fn disjoint_sets_have_the_smallest_p() {
        let p = |a: &[f64], b: &[f64]| p(a, b, 1).unwrap();
        assert_eq!(p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0);
        assert_eq!(p(&[1.0, 1.1, 1.2, 1.3], &[2.0, 2.1, 2.2, 2.3]), 2.0 / 70.0);
        assert_eq!(p(&[5.0, 5.0], &[5.0, 5.0, 5.0]), 1.0);
        assert_eq!(super::p(&[], &[1.0], 1), None);
        assert_eq!(super::p(&[0.0], &[1.0], 1), None);
    }

    #[test]
    fn pairs_that_agree_have_the_smallest_p() {
        assert_eq!(paired(&[1.0, 10.0, 100.0], &[2.0, 21.0, 190.0], 1), Some(2.0 / 8.0));
        assert_eq!(paired(&[5.0; 6], &[5.0; 6], 1), Some(1.0));
        assert_eq!(paired(&[1.0, 2.0], &[1.0], 1), None);
        let (a, b): (Vec<f64>, Vec<f64>) = (0..40).map(|i| (100.0 + f64::from(i), 101.0 + f64::from(i))).unzip();
        assert!(paired(&a, &b, 1).unwrap() < 0.001);
    }

    #[test]
    fn sampling_agrees_with_enumeration() {
        // Ten and ten are enumerated, eleven and ten sampled: one more value in the middle changes little.
        let a: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        let b: Vec<f64> = (0..10).map(|i| 103.0 + f64::from(i)).collect();
        let counted = p(&a, &b, 1).unwrap();
        let longer: Vec<f64> = a.iter().copied().chain([104.5]).collect();
        let drawn = p(&longer, &b, 1).unwrap();
        assert!(counted < 0.06 && (drawn / counted - 1.0).abs() < 0.3, "{counted} {drawn}");
        assert_eq!(drawn, p(&longer, &b, 1).unwrap());
    }
}
