//! Finds the end of a warm-up by MSER, the marginal standard error rule: cuts where the mean of the remaining values has the
//! smallest standard error.
//!
//! White 1997, *An effective truncation heuristic for bias reduction in simulation output*; with batches of five, MSER-5,
//! White, Cobb and Spratt 2000. Never cuts more than half: a minimum there means that the series has not settled.

/// Values per batch, for series of at least [`LONG`].
const BATCH: usize = 5;
/// Shortest series that is batched; below it, there would be too few cuts to choose from.
const LONG: usize = 10 * BATCH;

/// The number of leading values that are warm-up; `None` if the series has not settled or has fewer than four values.
pub fn warmup(values: &[f64]) -> Option<usize> {
    let size = if values.len() < LONG { 1 } else { BATCH };
    let batches: Vec<f64> = values.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
    let n = batches.len();
    if n < 4 {
        return None;
    }
    // From the end, so that each cut costs one update (Welford 1962, numerically stable).
    let (mut mean, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (count, (at, value)) in (1..).zip(batches.iter().enumerate().rev()) {
        let count = count as f64;
        let from_mean = value - mean;
        mean += from_mean / count;
        squares += from_mean * (value - mean);
        let error = squares / (count * count);
        // Never cuts into the last half; of equal cuts the smallest wins.
        if at <= n / 2 && error <= best.0 {
            best = (error, at);
        }
    }
    (best.1 < n / 2).then_some(best.1 * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Squared standard error after a cut, by definition.
    fn error(values: &[f64], cut: usize) -> f64 {
        let rest = &values[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    }

    #[test]
    fn a_slow_start_is_cut_and_an_unsettled_series_has_no_warm_up() {
        let start = [1.0, 4.0, 7.0];
        let steady = |n: usize| (0..n).map(|i| 10.0 + if i % 2 == 0 { 0.1 } else { -0.1 });
        let both: Vec<f64> = start.into_iter().chain(steady(20)).collect();
        assert_eq!(warmup(&both), Some(3));
        assert_eq!(warmup(&steady(23).collect::<Vec<_>>()), Some(0));
        assert_eq!(warmup(&[5.0; 12]), Some(0));
        // With batches, a warm-up of three values takes the whole first batch.
        let long: Vec<f64> = start.into_iter().chain(steady(97)).collect();
        assert_eq!(warmup(&long), Some(BATCH));
        assert_eq!(warmup(&(0..30).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(warmup(&[1.0, 2.0, 3.0]), None);
    }

    proptest! {
        #[test]
        fn the_cut_minimizes_the_error(values in proptest::collection::vec(0u32..1000, 4..LONG)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let half = values.len() / 2;
            let ours = error(&values, warmup(&values).unwrap_or(half));
            let least = (0..=half).map(|cut| error(&values, cut)).fold(f64::INFINITY, f64::min);
            prop_assert!(ours <= least * (1.0 + 1e-9) + 1e-9);
        }
    }
}
