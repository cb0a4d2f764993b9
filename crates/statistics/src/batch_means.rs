//! Confidence interval for a quantile of one run: order statistics on the effective sample size.
//!
//! Requests close in time meet the same queue, so a million of them carry less information than a million independent
//! ones. The method of batch means, with seconds as batches, measures how much less: with independent requests the share
//! below the quantile would vary between seconds as binomial counts do. The variance actually seen gives the standard
//! error of the share, and from it the ranks that enclose the true quantile.

use super::{Interval, student::two_sided_quantile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    pub count: u64,
    /// Requests at or below the quantile of the whole run.
    pub below: u64,
}

/// Share of requests below a quantile, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub share: f64,
    pub error: f64,
    /// Number of independent requests with the same error; at most the number of requests.
    pub effective: f64,
    /// Degrees of freedom of `error`.
    pub df: f64,
}

/// Fewest seconds that allow an estimate of their variance.
pub const MIN_SECONDS: usize = 3;

/// `None` for fewer than [`MIN_SECONDS`] seconds with requests, or if all or none of the requests are below the quantile.
pub fn share(batches: &[Batch]) -> Option<Share> {
    let batches: Vec<&Batch> = batches.iter().filter(|batch| batch.count > 0).collect();
    let (k, n) = (batches.len() as f64, batches.iter().map(|batch| batch.count as f64).sum::<f64>());
    let share = batches.iter().map(|batch| batch.below as f64).sum::<f64>() / n;
    if batches.len() < MIN_SECONDS || share <= 0.0 || share >= 1.0 {
        return None;
    }
    // Ratio estimator, because seconds differ in their number of requests (Cochran 1977, 6.13).
    let squares: f64 = batches.iter().map(|batch| (batch.below as f64 - share * batch.count as f64).powi(2)).sum();
    let independent = share * (1.0 - share) / n;
    let variance = (k / (k - 1.0) * squares / (n * n)).max(independent);
    Some(Share { share, error: variance.sqrt(), effective: n * independent / variance, df: k - 1.0 })
}

/// The ranks, as shares, of the values that enclose the true quantile `q`.
pub fn ranks(q: f64, share: &Share, confidence: f64) -> Interval {
    let half = two_sided_quantile(confidence, share.df) * share.error;
    Interval { low: (q - half).max(0.0), high: (q + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlated_requests_have_a_smaller_effective_sample() {
        let alike = [Batch { count: 1000, below: 990 }; 10];
        let sure = share(&alike).unwrap();
        assert_eq!((sure.share, sure.effective, sure.df), (0.99, 10_000.0, 9.0));
        // The same requests with all slow ones in one second.
        let mut one_bad = [Batch { count: 1000, below: 1000 }; 10];
        one_bad[3].below = 900;
        let unsure = share(&one_bad).unwrap();
        assert!((unsure.share - 0.99).abs() < 1e-12 && (99.0..=101.0).contains(&unsure.effective), "{unsure:?}");
        let (narrow, wide) = (ranks(0.99, &sure, 0.95), ranks(0.99, &unsure, 0.95));
        assert!(wide.low < narrow.low && narrow.low < 0.99 && wide.high == 1.0, "{narrow:?} {wide:?}");
    }

    #[test]
    fn too_few_seconds_give_no_estimate() {
        let batch = Batch { count: 100, below: 50 };
        assert_eq!(share(&[batch; 2]), None);
        assert_eq!(share(&[Batch { count: 100, below: 100 }; 9]), None);
        assert_eq!(share(&[batch, batch, Batch { count: 0, below: 0 }]), None);
        assert_eq!(share(&[]), None);
    }
}
