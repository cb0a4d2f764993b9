//! Standard errors by drawing rounds again, with replacement (Efron 1979); of several starts, first starts and then rounds of each
//! (Davison and Hinkley 1997, 3.8).

use super::below;
use crate::student::two_sided_quantile;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Standard errors of several values, from the same draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Errors {
    /// One for each value.
    pub each: Vec<f64>,
    /// Degrees of freedom: of several starts one less than there are, else of the rounds.
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
    // What is drawn on the outer level.
    let units = if groups.len() > 1 { groups.len() } else { starts.len() };
    if units < 2 {
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
            drawn.extend((0..group.len()).map(|_| group[any(group.len())]));
        }
        found.extend(of(&drawn).filter(|values| values.iter().all(|value| value.is_finite())));
    }
    if found.is_empty() || 2 * found.len() < draws {
        return None;
    }
    let count = found.len() as f64;
    // The spread of draws is that of a population of these units, which is too small by their number.
    let wider = units as f64 / (units as f64 - 1.0);
    let error = |index: usize| {
        let mean = found.iter().map(|values| values[index]).sum::<f64>() / count;
        let squares: f64 = found.iter().map(|values| (values[index] - mean).powi(2)).sum();
        (squares / count * wider).sqrt()
    };
    Some(Errors { each: (0..found[0].len()).map(error).collect(), df: units as f64 - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> impl Fn(&[usize]) -> Option<Vec<f64>> {
        let values = values.to_vec();
        move |drawn| Some(vec![drawn.iter().map(|index| values[*index]).sum::<f64>() / drawn.len() as f64])
    }

    #[test]
    fn the_error_of_a_mean_is_the_deviation_by_the_root_of_the_count() {
        let values: Vec<f64> = (0..40).map(|index| f64::from(index * 7 % 40)).collect();
        let found = errors(&[1; 40], 4000, 1, mean(&values)).unwrap();
        let middle = values.iter().sum::<f64>() / 40.0;
        let variance = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / 39.0;
        assert!((found.each[0] / (variance / 40.0).sqrt() - 1.0).abs() < 0.04, "{found:?}");
        assert_eq!((found.df, found.each.len()), (39.0, 1));
        assert!((found.factor(0.95) - 2.0227).abs() < 1e-3);
    }

    #[test]
    fn starts_that_differ_are_in_the_error() {
        // Three starts of ten equal rounds each: all of the spread is between them.
        let starts: Vec<u32> = (0..30).map(|index| index / 10).collect();
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
