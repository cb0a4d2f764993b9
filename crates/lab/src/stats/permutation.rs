//! The permutation test: if two sets of repeats do not differ, who belongs to which is chance, and the difference that was
//! seen is one of all those that other divisions of the same values would have made (Fisher 1935; Phipson and Smyth 2010).
//! It supposes nothing about how values are distributed.

use crate::stats::random::below;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Up to so many divisions all of them are looked at: ten and ten values have 184,756.
const ALL: u64 = 200_000;
/// Else so many are drawn.
const DRAWN: u32 = 10_000;

/// The share of divisions whose means of logarithms differ by as much as those of `a` and `b`, either way. All values
/// must be above zero; `None` if one is not, or if a side is empty. `seed` matters only where divisions are drawn.
pub fn p(a: &[f64], b: &[f64], seed: u64) -> Option<f64> {
    let mut values: Vec<f64> = a.iter().chain(b).map(|value| value.ln()).collect();
    if a.is_empty() || b.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    // The sum of one side tells the difference of the means, for the sum of both is always the same.
    let expected = values.iter().sum::<f64>() / values.len() as f64 * b.len() as f64;
    let off = |sum: f64| (sum - expected).abs();
    let seen = off(values[a.len()..].iter().sum());
    // Equal divisions must count as equal whatever the order of summing has rounded.
    let reaches = |sum: f64| off(sum) >= seen - 1e-12 * expected.abs().max(1.0);
    if divisions(values.len() as u64, b.len() as u64) <= ALL {
        let (mut reached, mut all) = (0u64, 0u64);
        each_sum(&values, b.len(), 0.0, &mut |sum| {
            all += 1;
            reached += u64::from(reaches(sum));
        });
        return Some(reached as f64 / all as f64);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut reached = 0;
    for _ in 0..DRAWN {
        // Fisher and Yates, as far as one side needs it.
        for place in 0..b.len() {
            let from = place + below((values.len() - place) as u64, &mut random) as usize;
            values.swap(place, from);
        }
        reached += u32::from(reaches(values[..b.len()].iter().sum()));
    }
    // What was seen is itself one of the divisions.
    Some(f64::from(reached + 1) / f64::from(DRAWN + 1))
}

/// The same of repeats that belong together, the first of `a` with the first of `b` and so on: in each pair chance decides
/// which is which. `None` also if one side has more.
pub fn paired(a: &[f64], b: &[f64], seed: u64) -> Option<f64> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.ln() - a.ln()).collect();
    if a.is_empty() || a.len() != b.len() || ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    let seen = ratios.iter().sum::<f64>().abs();
    let all: f64 = ratios.iter().map(|ratio| ratio.abs()).sum();
    let reaches = |turned: &mut dyn FnMut(usize) -> bool| {
        let signed = ratios.iter().enumerate().map(|(place, ratio)| if turned(place) { -ratio } else { *ratio });
        signed.sum::<f64>().abs() >= seen - 1e-12 * all.max(1.0)
    };
    let ways = 1u64.checked_shl(ratios.len() as u32).unwrap_or(u64::MAX);
    if ways <= ALL {
        let reached = (0..ways).filter(|bits| reaches(&mut |place| bits >> place & 1 == 1)).count();
        return Some(reached as f64 / ways as f64);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let reached = (0..DRAWN).filter(|_| reaches(&mut |_| below(2, &mut random) == 1)).count();
    Some((reached + 1) as f64 / f64::from(DRAWN + 1))
}

/// How many ways there are to choose `k` of `n`; beyond [`ALL`] any larger number.
fn divisions(n: u64, k: u64) -> u64 {
    let mut ways = 1u64;
    for i in 0..k.min(n - k) {
        ways = ways * (n - i) / (i + 1);
        if ways > ALL {
            break;
        }
    }
    ways
}

/// Calls with the sum of every choice of `k` values.
fn each_sum(values: &[f64], k: usize, sum: f64, see: &mut dyn FnMut(f64)) {
    match values.split_first() {
        _ if k == 0 => see(sum),
        Some((first, rest)) if values.len() >= k => {
            each_sum(rest, k - 1, sum + first, see);
            each_sum(rest, k, sum, see);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_do_not_overlap_are_one_division_of_all() {
        let p = |a: &[f64], b: &[f64]| p(a, b, 1).unwrap();
        assert_eq!(p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0);
        assert_eq!(p(&[1.0, 1.1, 1.2, 1.3], &[2.0, 2.1, 2.2, 2.3]), 2.0 / 70.0);
        assert_eq!(p(&[5.0, 5.0], &[5.0, 5.0, 5.0]), 1.0);
        assert_eq!(super::p(&[], &[1.0], 1), None);
        assert_eq!(super::p(&[0.0], &[1.0], 1), None);
    }

    #[test]
    fn of_pairs_that_agree_only_all_turned_around_are_as_far() {
        assert_eq!(paired(&[1.0, 10.0, 100.0], &[2.0, 21.0, 190.0], 1), Some(2.0 / 8.0));
        assert_eq!(paired(&[5.0; 6], &[5.0; 6], 1), Some(1.0));
        assert_eq!(paired(&[1.0, 2.0], &[1.0], 1), None);
        let (a, b): (Vec<f64>, Vec<f64>) = (0..40).map(|i| (100.0 + f64::from(i), 101.0 + f64::from(i))).unzip();
        assert!(paired(&a, &b, 1).unwrap() < 0.001);
    }

    #[test]
    fn drawing_agrees_with_counting() {
        // Ten and ten are counted, eleven and ten drawn: one more value in the middle changes little.
        let a: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        let b: Vec<f64> = (0..10).map(|i| 103.0 + f64::from(i)).collect();
        let counted = p(&a, &b, 1).unwrap();
        let longer: Vec<f64> = a.iter().copied().chain([104.5]).collect();
        let drawn = p(&longer, &b, 1).unwrap();
        assert!(counted < 0.06 && (drawn / counted - 1.0).abs() < 0.3, "{counted} {drawn}");
        assert_eq!(drawn, p(&longer, &b, 1).unwrap());
    }
}
