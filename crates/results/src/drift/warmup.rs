//! Where a warm-up ends: MSER, the marginal standard error rule. Of all cuts at the beginning it takes the one that leaves
//! the mean of the rest with the smallest standard error: it drops values as long as they differ from the rest by more
//! than their loss costs.
//!
//! White 1997, *An effective truncation heuristic for bias reduction in simulation output*; the batches of five are White,
//! Cobb and Spratt 2000, who call it MSER-5. Never cuts more than half: a minimum there means that nothing has settled.

/// Values of a batch, for series that are long enough.
const BATCH: usize = 5;
/// A series of fewer values is not batched: there would be too few batches to choose a cut from.
const LONG: usize = 10 * BATCH;

/// How many values at the beginning are warm-up; `None` if nothing has settled, or there are fewer than four values.
pub fn warmup(values: &[f64]) -> Option<usize> {
    let size = if values.len() < LONG { 1 } else { BATCH };
    let batches: Vec<f64> = values.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
    let n = batches.len();
    if n < 4 {
        return None;
    }
    // From the end, so that every cut costs one step (Welford 1962: no difference of large squares).
    let (mut mean, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (count, (place, value)) in (1..).zip(batches.iter().enumerate().rev()) {
        let count = count as f64;
        let from_mean = value - mean;
        mean += from_mean / count;
        squares += from_mean * (value - mean);
        let error = squares / (count * count);
        // The last half is never cut into, and of equal cuts the smallest wins.
        if place <= n / 2 && error <= best.0 {
            best = (error, place);
        }
    }
    (best.1 < n / 2).then_some(best.1 * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The standard error that a cut leaves, squared, as it is written down.
    fn error(values: &[f64], cut: usize) -> f64 {
        let rest = &values[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    }

    #[test]
    fn a_slow_start_is_cut_and_a_steady_series_is_not() {
        let start = [1.0, 4.0, 7.0];
        let steady = |n: usize| (0..n).map(|i| 10.0 + if i % 2 == 0 { 0.1 } else { -0.1 });
        let both: Vec<f64> = start.into_iter().chain(steady(20)).collect();
        assert_eq!(warmup(&both), Some(3));
        assert_eq!(warmup(&steady(23).collect::<Vec<_>>()), Some(0));
        assert_eq!(warmup(&[5.0; 12]), Some(0));
        // In batches a start of three costs the whole first one.
        let long: Vec<f64> = start.into_iter().chain(steady(97)).collect();
        assert_eq!(warmup(&long), Some(BATCH));
    }

    #[test]
    fn what_never_settles_has_no_warm_up() {
        assert_eq!(warmup(&(0..30).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(warmup(&[1.0, 2.0, 3.0]), None);
    }

    proptest! {
        #[test]
        fn no_cut_leaves_less_error(values in proptest::collection::vec(0u32..1000, 4..LONG)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let half = values.len() / 2;
            let ours = error(&values, warmup(&values).unwrap_or(half));
            let least = (0..=half).map(|cut| error(&values, cut)).fold(f64::INFINITY, f64::min);
            prop_assert!(ours <= least * (1.0 + 1e-9) + 1e-9);
        }
    }
}
