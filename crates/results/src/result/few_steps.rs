//! A histogram of few steps, for counts and times of which two digits are enough: a few hundred bytes where
//! [HdrHistogram](crate::latency) takes a hundred kilobytes.

use serde::{Deserialize, Serialize};

/// log2 of the value below which every number has a step of its own.
const EXACT_BITS: u32 = 5;
/// Steps of each further doubling.
const HALF: usize = 1 << (EXACT_BITS - 1);
/// Values above count as this one: an hour in microseconds is less.
const MOST: u64 = (1 << 32) - 1;

/// Counts of whole numbers: exact up to 32, above it in steps of a sixteenth to a thirty-second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u16, u64)>", into = "Vec<(u16, u64)>")]
pub struct FewSteps(Vec<u64>);

#[inline]
fn step_of(value: u64) -> usize {
    let value = value.min(MOST);
    let doubling = (u64::BITS - EXACT_BITS) - (value | ((1 << EXACT_BITS) - 1)).leading_zeros();
    doubling as usize * HALF + (value >> doubling) as usize
}

/// The middle of a step.
fn value_of(step: usize) -> u64 {
    if step < 2 * HALF {
        return step as u64;
    }
    let doubling = step / HALF - 1;
    (((step - doubling * HALF) as u64) << doubling) + ((1 << doubling) - 1) / 2
}

impl FewSteps {
    #[inline]
    pub fn record(&mut self, value: u64) {
        let step = step_of(value);
        match self.0.get_mut(step) {
            Some(count) => *count += 1,
            None => self.grow(step),
        }
    }

    #[cold]
    fn grow(&mut self, step: usize) {
        self.0.resize(step + 1, 0);
        self.0[step] = 1;
    }

    pub fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(all, count)| *all += count);
    }

    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The value at the rank `ceil(quantile * count)`; `None` without values.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((self.count() as f64 * quantile).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.0.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map(value_of)
    }
}

impl From<FewSteps> for Vec<(u16, u64)> {
    fn from(FewSteps(counts): FewSteps) -> Self {
        let counts = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        counts.map(|(step, count)| (step as u16, count)).collect()
    }
}

impl From<Vec<(u16, u64)>> for FewSteps {
    fn from(steps: Vec<(u16, u64)>) -> Self {
        let mut all = Self::default();
        for (step, count) in steps {
            let step = usize::from(step).min(step_of(MOST));
            if all.0.len() <= step {
                all.0.resize(step + 1, 0);
            }
            all.0[step] += count;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_contiguous_and_values_are_within_a_thirty_second() {
        let mut last = 0;
        for value in (0..5000).chain((13..32).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 77])) {
            let step = step_of(value);
            assert!(step == last || step == last + 1 || value > 5000, "{value}");
            last = step;
            let middle = value_of(step) as f64;
            assert!((middle - value as f64).abs() <= value as f64 / 32.0, "{value} {middle}");
        }
        assert_eq!((0..=32).map(|value| value_of(step_of(value))).collect::<Vec<_>>(), (0..=32).collect::<Vec<_>>());
        assert_eq!(step_of(u64::MAX), step_of(MOST));
    }

    proptest! {
        #[test]
        fn parts_add_up_and_are_read_back(values in proptest::collection::vec(0u64..1 << 40, 0..200), at in 0usize..200) {
            let of = |values: &[u64]| {
                let mut all = FewSteps::default();
                values.iter().for_each(|value| all.record(*value));
                all
            };
            let (left, right) = values.split_at(at.min(values.len()));
            let (mut sum, all) = (of(left), of(&values));
            sum.add(&of(right));
            prop_assert_eq!(&sum, &all);
            let read: FewSteps = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
            prop_assert_eq!(&read, &all);
            prop_assert_eq!(all.count(), values.len() as u64);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (values.len() as f64 * 0.99).ceil() as usize;
            let expected = (!values.is_empty()).then(|| value_of(step_of(sorted[rank.max(1) - 1])));
            prop_assert_eq!(all.quantile(0.99), expected);
        }
    }
}
