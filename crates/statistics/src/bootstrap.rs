//! Standard errors by drawing rounds again, with replacement (Efron 1979); of several starts, first starts and then rounds of each
//! (Davison and Hinkley 1997, 3.8).
//!
//! Rounds that follow each other are alike, as a spell of a machine may outlast several. Those of one start are drawn in blocks of
//! neighbours, the last and the first of all being some (circular blocks: Politis and Romano 1992).

use super::below;
use crate::student::two_sided_quantile;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Blocks into which the rounds of one start are divided: as few as give an error at all, since their length is that of the longest
/// spell which the error takes in.
const BLOCKS: usize = 5;

/// Standard errors of several values, from the same draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Errors {
    /// One for each value.
    pub each: Vec<f64>,
    /// Degrees of freedom: of several starts one less than there are, else of the blocks. Blocks that overlap have half as many more
    /// as blocks that do not (Künsch 1989).
    pub df: f64,
}

impl Errors {
    /// Half of the width of an interval around a value of standard error 1.
    pub fn factor(&self, confidence: f64) -> f64 {
        two_sided_quantile(confidence, self.df)
    }
}

/// Standard errors of what `of` finds for the rounds of these indices. `starts` has the start of each round. Draws for which
/// `of` finds nothing are left out. `None` for fewer than two rounds, or if more than half of the draws are left out.
pub fn errors(
    starts: &[u32],
    draws: usize,
    seed: u64,
    mut of: impl FnMut(&[usize]) -> Option<Vec<f64>>,
) -> Option<Errors> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        match groups.iter_mut().find(|group| starts[group[0]] == *start) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    let block = if groups.len() > 1 { 1 } else { (starts.len() / BLOCKS).max(1) };
    // What is drawn on the outer level.
    let units = if groups.len() > 1 { groups.len() as f64 } else { starts.len() as f64 / block as f64 };
    if units < 2.0 {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut any = |count: usize| below(count as u64, &mut random) as usize;
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(draws);
    let mut drawn = Vec::with_capacity(starts.len());
    for _ in 0..draws {
        drawn.clear();
        for _ in 0..groups.len() {
            let group = &groups[any(groups.len())];
            let mut left = group.len();
            while left > 0 {
                let first = any(group.len());
                drawn.extend((0..block.min(left)).map(|next| group[(first + next) % group.len()]));
                left -= block.min(left);
            }
        }
        found.extend(of(&drawn).filter(|values| values.iter().all(|value| value.is_finite())));
    }
    if found.is_empty() || 2 * found.len() < draws {
        return None;
    }
    let count = found.len() as f64;
    // The spread of draws is that of a population of these units, which is too small by their number.
    let wider = units / (units - 1.0);
    let error = |index: usize| {
        let mean = found.iter().map(|values| values[index]).sum::<f64>() / count;
        let squares: f64 = found.iter().map(|values| (values[index] - mean).powi(2)).sum();
        (squares / count * wider).sqrt()
    };
    let df = if block > 1 { 1.5 * units - 1.0 } else { units - 1.0 };
    Some(Errors { each: (0..found[0].len()).map(error).collect(), df })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> impl Fn(&[usize]) -> Option<Vec<f64>> {
        let values = values.to_vec();
        move |drawn| Some(vec![drawn.iter().map(|index| values[*index]).sum::<f64>() / drawn.len() as f64])
    }

    /// Values between -0.5 and 0.5, of which each keeps this share of the one before.
    fn values(count: usize, kept: f64, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut last = 0.0;
        let mut next = || {
            last = kept * last + below(1 << 20, random) as f64 / f64::from(1 << 20) - 0.5;
            last
        };
        (0..20).for_each(|_| _ = next());
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_error_of_a_mean_is_the_deviation_by_the_root_of_the_count() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut squares = 0.0;
        for _ in 0..400 {
            let found = errors(&[1; 40], 200, 1, mean(&values(40, 0.0, &mut random))).unwrap();
            squares += found.each[0].powi(2) / 400.0;
            // Five blocks of eight.
            assert_eq!((found.df, found.each.len()), (6.5, 1));
            assert!((2.365..2.447).contains(&found.factor(0.95)));
        }
        assert!(((squares * 12.0 * 40.0).sqrt() - 1.0).abs() < 0.05, "{squares}");
    }

    #[test]
    fn intervals_of_rounds_that_are_alike_hold_the_truth() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for (kept, least) in [(0.0, 0.93), (0.4, 0.92), (0.8, 0.85)] {
            let mut held = 0;
            for _ in 0..1000 {
                let values = values(60, kept, &mut random);
                let found = errors(&[1; 60], 200, 1, mean(&values)).unwrap();
                let middle = values.iter().sum::<f64>() / 60.0;
                held += u32::from(middle.abs() <= found.factor(0.95) * found.each[0]);
            }
            assert!(f64::from(held) / 1000.0 >= least, "{held} with {kept}");
        }
    }

    #[test]
    fn starts_that_differ_are_in_the_error() {
        // Three starts of ten equal rounds each, in turns: all of the spread is between them.
        let starts: Vec<u32> = (0..30).map(|index| index % 3).collect();
        let values: Vec<f64> = starts.iter().map(|start| f64::from(*start)).collect();
        let found = errors(&starts, 4000, 1, mean(&values)).unwrap();
        assert_eq!(found.df, 2.0);
        // Deviation 1 by the root of 3.
        assert!((found.each[0] * 3f64.sqrt() - 1.0).abs() < 0.04, "{found:?}");
        let alone = errors(&[1; 30], 4000, 1, mean(&values)).unwrap();
        assert!(alone.each[0] < found.each[0] / 2.0, "{alone:?}");
    }

    #[test]
    fn without_rounds_or_values_there_are_no_errors() {
        assert_eq!(errors(&[], 100, 1, mean(&[])), None);
        assert_eq!(errors(&[1], 100, 1, mean(&[1.0])), None);
        assert_eq!(errors(&[1, 1, 1], 100, 1, |_| None), None);
        assert_eq!(errors(&[1, 1, 1], 100, 1, mean(&[2.0; 3])).unwrap().each, [0.0]);
    }
}
